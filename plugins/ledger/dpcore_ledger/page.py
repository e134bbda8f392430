"""A ledger as one page of HTML, which loads nothing, with a picture of its budgets over time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from dpcore_ledger.remaining import shown_down
from dpcore_ledger.rendering import COLUMNS, history, outside_rows, remaining, run_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcore_ledger.chain import Entry
    from dpcore_ledger.state import State

__all__ = ["page"]

_STYLE = """
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #ddd }
.wide { overflow-x: auto }
svg { width: 100%; height: auto } text { font-size: 12px; fill: #555 }
.axis { stroke: #999 } .cap { stroke: #b00; stroke-dasharray: 5 4 }
.spent { fill: none; stroke: #06c; stroke-width: 2 }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WIDTH, _HEIGHT, _LEFT, _TOP = 720, 240, 50, 20
_DATE = 65
_MOST_DATES = 6


def page(name: str, state: State, entries: Sequence[Entry]) -> str:
    """Return the page of a ledger: all that ``shown`` says of it. Names are text, never markup."""
    html = Element("html", lang="en")
    head, body = SubElement(html, "head"), SubElement(html, "body")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width")
    SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY})
    _say(head, "title", f"Ledger {name}")
    _say(head, "style", _STYLE)
    _say(body, "h1", f"Ledger {name}")
    for line in remaining(state):
        _say(body, "p", line)
    past = history(state, entries)
    for place, terms in enumerate(state.budgets):
        _say(body, "h2", f"Budget {place + 1} over time")
        points = [(moment["at"], moment["spent"][place]) for moment in past]
        _draw(body, points, terms.filter.budget, terms.filter.unit)
    _say(body, "h2", "Runs")
    _table(body, COLUMNS, run_rows(state))
    if state.outside:
        _say(body, "h2", "Outside: no guarantee")
        _table(body, ("when", "who", "why"), outside_rows(state))
    return "<!DOCTYPE html>\n" + tostring(html, encoding="unicode", method="html") + "\n"


def _say(parent: Element, tag: str, text: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = text


def _table(parent: Element, header: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    table = SubElement(SubElement(parent, "div", {"class": "wide"}), "table")
    line = SubElement(table, "tr")
    for name in header:
        _say(line, "th", name)
    for row in rows:
        line = SubElement(table, "tr")
        for cell in row:
            _say(line, "td", cell)


def _draw(parent: Element, points: list[tuple[str, float]], budget: float, unit: str) -> None:
    """Draw what counted as spent after each entry, in their order, below the budget's line. Entries
    that end a run have no time, and dates are those of the ones before."""
    size = f"0 0 {_WIDTH} {_HEIGHT + 50}"
    svg = SubElement(parent, "svg", viewBox=size, role="img")
    _say(svg, "title", f"What counted as spent, of {shown_down(budget)} {unit}")
    step = (_WIDTH - _LEFT) / len(points)
    bottom, path = _TOP + _HEIGHT, []
    for place, (_, spent) in enumerate(points):
        height = bottom - _HEIGHT * spent / budget
        path.append(f"{_LEFT + place * step:.1f},{height:.1f}")
        path.append(f"{_LEFT + (place + 1) * step:.1f},{height:.1f}")
    for kind, height in (("cap", _TOP), ("axis", bottom)):
        ends = {"x1": str(_LEFT), "x2": str(_WIDTH), "y1": str(height), "y2": str(height)}
        SubElement(svg, "line", {"class": kind, **ends})
    SubElement(svg, "polyline", {"class": "spent", "points": " ".join(path)})
    for label, height in ((shown_down(budget), _TOP), ("0", bottom), (unit, _TOP + _HEIGHT // 2)):
        _say(svg, "text", label, x="0", y=f"{height + 4}")
    days = [(place, at[:10]) for place, (at, _) in enumerate(points) if at]
    starts = [now for before, now in pairwise([(0, ""), *days]) if now[1] != before[1]]
    for place, day in starts[:: -(-len(starts) // _MOST_DATES)]:
        x = min(_LEFT + place * step, _WIDTH - _DATE)  # So that the last date is not cut off.
        _say(svg, "text", day, x=f"{x:.1f}", y=f"{bottom + 18}")
