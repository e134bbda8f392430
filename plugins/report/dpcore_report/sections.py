"""The sections of a report: heads, sentences, points and tables, however they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dpcore_report.pictures.panel import Picture

__all__ = ["Item", "Section"]


class Item(NamedTuple):
    """A point of a list, and the page of the documents that has more of it, if one has."""

    text: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A head, and, where there are any, sentences, points, a table, pictures, and parts."""

    title: str
    lines: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    pictures: tuple[Picture, ...] = ()
    parts: tuple[Section, ...] = ()
