"""The colour, marker and dash that each algorithm has in all figures of the papers, and the words
below them.

A preset has its algorithm's colour, with a dash and a marker of its own; the published form, which
is not private, is broken with hollow points. Ten colours are all that can be told apart, so that
two algorithms that are never in one figure may share one.
"""

from __future__ import annotations

import textwrap
from typing import Any

from dpcore_lab.compare.settings import AS_PUBLISHED
from dpcore_lab.compare.styles import DASHES, MARKERS, curve_style

__all__ = ["look_of", "write_below"]

_ALGORITHMS = (
    ("dp-agd", "a-ddp"),
    ("sgd-ma", "sgd-maj"),
    ("dp-gd",),
    ("objpert",),
    ("outpert", "outpert-gd"),
    ("rsgd-ar",),
    ("privgene", "bolt-on"),
    ("sgd-adv", "sgd-adv-local", "nsgd"),
    ("psgd", "sgd-pass"),
)
"""In the order of the colours: those of one line are in no figure together."""
_PLACES = {name: place for place, names in enumerate(_ALGORITHMS) for name in names}
_VARIANTS = {"paper": 1, "amplified": 2, "huberised": 0}
_WIDE = 2.4
_SMALL, _PER_INCH = 7.5, 16
"""The size of the words below a figure, in points, and how many letters an inch has of them."""


def look_of(label: str, about: str | None = None) -> dict[str, Any]:
    """Return the style of an algorithm, NAME or NAME:VARIANT; wider where the figure is about it.

    Raises KeyError for a name that has none.
    """
    name, _, variant = label.partition(" ")[0].partition(":")
    place = _PLACES[name]
    look = curve_style(place, private=variant != AS_PUBLISHED)
    if variant in _VARIANTS:
        turn = _VARIANTS[variant]
        look["ls"] = DASHES[(place + turn) % len(DASHES)]
        look["marker"] = MARKERS[(place + 5 * turn) % len(MARKERS)]
    return look | ({"lw": _WIDE} if name == about else {})


def write_below(figure: Any, *notes: str) -> None:
    """Write sentences below a figure, each in lines that end within its width."""
    letters = int(_PER_INCH * figure.get_figwidth())
    lines = [textwrap.fill(note, letters) for note in notes if note]
    if lines:
        figure.supxlabel("\n".join(lines), fontsize=_SMALL)
