"""A card as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from dpcore.errors import visible

if TYPE_CHECKING:
    from dpcore_report.card import Card
    from dpcore_report.sections import Section

__all__ = ["text_of"]

_WIDTH = 100


def text_of(card: Card) -> str:
    """Return the card for a terminal or a letter, in lines of at most 100 characters where words
    allow. Control characters of a file's texts can be read in it."""
    facts = [visible(f"{name}: {value}") for name, value in card.facts]
    parts = [_wrapped(card.title), _wrapped(card.headline), "\n".join(facts)]
    parts += [_section(section) for section in card.sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> str:
    title = visible(section.title)
    lines = [title, "-" * len(title)]
    lines += [_wrapped(line) for line in section.lines]
    lines += [_wrapped(item.text, "* ") for item in section.items]
    if section.rows:
        lines.append(_wrapped(", ".join(section.heads) + ":"))
        lines += [_wrapped("  ".join(row), "  ") for row in section.rows]
    for part in section.parts:
        if part.lines or part.items or part.rows:  # Pictures are for pages.
            lines += ["", _section(part)]
    return "\n".join(lines)


def _wrapped(text: str, first: str = "") -> str:
    rest = " " * len(first)
    return textwrap.fill(
        visible(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    )
