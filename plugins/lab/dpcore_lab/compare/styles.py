"""The styles of a picture's curves, which differ in colour, marker and dash together."""

from __future__ import annotations

from typing import Any

__all__ = ["COLOURS", "DASHES", "MARKERS", "curve_style"]

COLOURS = (
    "#332288",  # indigo
    "#E69F00",  # orange
    "#44AA99",  # teal
    "#CC6677",  # rose
    "#AA4499",  # purple
    "#BB0011",  # red
    "#117733",  # green
    "#003A6B",  # navy
    "#C7A76C",  # sand
    "#56B4E9",  # sky
)
"""Ten hues, most of them of Okabe & Ito (2008) and of Tol (2021). Any two are at least 36 apart in
CIELAB, and 14 as protanopes and deuteranopes see them (Machado, Oliveira & Fernandes 2009); of one
dash, at least 5 in lightness, so that grey print keeps them apart."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
"""One more than there are colours, so that colour, marker and dash come round at other turns."""
DASHES: tuple[Any, ...] = ("-", (0, (1, 1.3)), (0, (7, 1.5, 1.5, 1.5)))
"""Dashes of curves with a guarantee."""
_NOT_PRIVATE = (0, (3.5, 2))


def curve_style(place: int, *, private: bool = True) -> dict[str, Any]:
    """Return colour, marker and dash of the curve at a place, a curve that is not private being
    broken and its markers hollow."""
    colour = COLOURS[place % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[place % len(MARKERS)],
        "ls": DASHES[place % len(DASHES)] if private else _NOT_PRIVATE,
        "mfc": colour if private else "white",
        "mew": 0.0 if private else 1.2,
        "ms": 5.5,
        "lw": 1.4,
    }
