"""The separator of a text file's cells, as its name and its header say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

__all__ = ["likely_separator", "looks_separated", "separator_in", "separator_of"]

_KNOWN = {",": ("comma", ","), ";": ("semicolon", ";"), "\t": ("tab", "\\t"), "|": ("bar", "|")}
"""Separators that a line of one cell is searched for: their names, and how TOML writes them."""


def separator_in(path: str, form: str, header: Sequence[str]) -> str:
    """Return the separator that a file's name says, or, if the header is one column by it, another
    that divides it."""
    return likely_separator(header) or separator_of(path, form)


def likely_separator(cells: Sequence[str]) -> str | None:
    """Return the separator that is most often in a line of one cell, None for no such line."""
    counts = {s: cells[0].count(s) for s in _KNOWN} if len(cells) == 1 else {"": 0}
    best = max(counts, key=lambda separator: counts[separator])
    return best if counts[best] else None


def looks_separated(cells: Sequence[str], by: str) -> str:
    """Return what a line of one cell looks like, as a sentence, or nothing if it is separated
    ``by`` what it should be."""
    separator = likely_separator(cells)
    if separator in (None, by):
        return ""
    name, written = _KNOWN[separator]
    return (
        f' This looks {name}-separated: separator = "{written}" in the schema says so, and '
        f"--separator '{written}' of dpcore predict."
    )


def separator_of(path: str, format: str) -> str:
    """Return the separator of cells that a text file's name says: a schema may say another."""
    if format == "whitespace":
        return "whitespace"
    return "\t" if PurePath(path).name.lower().removesuffix(".gz").endswith(".tsv") else ","
