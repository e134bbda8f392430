"""Draws `packages.svg`, the packages and the rooms of the core, from the lists of `design.md`.

    python docs/draw_packages.py

A test compares the lists with the imports, and the picture with the lists.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PICTURE = HERE / "packages.svg"

_WIDTH, _ROW, _BOX = 960, 62, 30
_STYLE = """
text { font: 13px sans-serif; text-anchor: middle; fill: #222 }
rect { fill: #eef3fb; stroke: #5b7bb4; rx: 4 }
.core { fill: #fafafa; stroke: #999 }
.room { fill: #f4efe2; stroke: #a98f4e }
path { stroke: #5b7bb4; fill: none; marker-end: url(#arrow) }
""".strip()
_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8" style="marker-end: none"/></marker>'
)


def listed(text: str, section: str) -> str:
    """Return the list in a section of the page."""
    return text.partition(f"## {section}\n")[2].partition("```")[2].partition("```")[0]


def edges_of(packages: str) -> list[tuple[str, str]]:
    """Return which package imports which other one, the core aside, as the page lists them."""
    lines = [re.findall(r"dpcore_\w+", line) for line in packages.strip().splitlines()]
    return sorted((package, other) for package, *others in lines for other in others)


def picture(text: str) -> str:
    """Return the picture of a page's lists, as SVG: an arrow goes to what is imported."""
    packages, rooms = listed(text, "Packages"), listed(text, "Rooms").strip().splitlines()
    edges = edges_of(packages)
    rows = _in_rows({*re.findall(r"dpcore_\w+", packages)}, edges)
    places = {
        name: ((at + 0.5) * _WIDTH / len(row), (len(rows) - depth) * _ROW - _ROW / 2)
        for depth, row in enumerate(rows)
        for at, name in enumerate(row)
    }
    top = len(rows) * _ROW + 20
    drawn = [_arrow(places[name], places[other]) for name, other in edges]
    drawn += [_arrow((_WIDTH / 2, top - 46), (_WIDTH / 2, top + _BOX / 2))]
    drawn += [_box(name, *place, 118) for name, place in places.items()]
    height = top + 42 + 38 * len(rooms)
    drawn.append(_rect(10, top, _WIDTH - 20, height - top - 8, "core"))
    drawn.append(
        _text(
            "dpcore, which all packages import; a room imports those below it, and those before it",
            _WIDTH / 2,
            top + 18,
        )
    )
    for above, row in enumerate(reversed(rooms)):
        names = row.split()
        for at, name in enumerate(names):
            x = (at + 0.5) * (_WIDTH - 40) / len(names) + 20
            drawn.append(_box(name, x, top + 46 + 38 * above, 104, "room"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">\n'
        f"<title>Packages and rooms</title>\n<style>\n{_STYLE}\n</style>\n"
        f"<defs>{_ARROW}</defs>\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def _in_rows(names: set[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Return the packages in rows: each above all that it imports."""
    depth = dict.fromkeys(names, 0)
    for _ in names:
        for name, other in edges:
            depth[name] = max(depth[name], depth[other] + 1)
    return [sorted(n for n in names if depth[n] == d) for d in range(max(depth.values()) + 1)]


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = start, end
    rise = _BOX / 2 * (to_y > y)
    return f'<path d="M{x:.0f} {y + rise:.0f} L{to_x:.0f} {to_y - rise:.0f}"/>'


def _box(name: str, x: float, y: float, width: float, kind: str = "") -> str:
    shown = name.removeprefix("dpcore_").replace("_", "-") if not kind else name
    return _rect(x - width / 2, y - _BOX / 2, width, _BOX, kind) + _text(shown, x, y + 4)


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    said = f' class="{kind}"' if kind else ""
    return f'<rect{said} x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}"/>'


def _text(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{text}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture((HERE / "design.md").read_text("utf-8")), "utf-8")
