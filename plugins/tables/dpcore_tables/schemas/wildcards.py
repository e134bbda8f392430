"""Columns of a schema whose name has a *: they stand for columns of a file, by its header."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Drop, FeatureColumn, Label

__all__ = ["alike_columns", "expanded", "fits"]

_MANY = 8


def expanded(
    columns: Sequence[FeatureColumn | Label | Drop], wildcards: Sequence[str], names: Sequence[str]
) -> tuple[FeatureColumn | Label | Drop, ...]:
    """Return the columns with each wildcard replaced by those of ``names`` that it means: the
    names are public, as the header of a file is.

    A name belongs to the column of that name, or else to the first wildcard that fits it; those of
    a wildcard are in the order of ``names``.
    Raises InvalidInputError for a wildcard that means none, unless it is dropped.
    """
    listed = {column.name for column in columns} - set(wildcards)
    found: dict[str, list[str]] = {wildcard: [] for wildcard in wildcards}
    for name in names:
        meant = (w for w in wildcards if name not in listed and fits(w, name))
        if (first := next(meant, None)) is not None:
            found[first].append(name)
    out: list[FeatureColumn | Label | Drop] = []
    for column in columns:
        if column.name not in found:
            out.append(column)
            continue
        if not found[column.name] and not isinstance(column, Drop):
            raise InvalidInputError(
                f"The schema's {column.name!r} stands for no column: no name among those of the "
                "rows fits it, and has no entry of its own."
            )
        out += [dataclasses.replace(column, name=name) for name in found[column.name]]
    return tuple(out)


def fits(wildcard: str, name: str) -> bool:
    """Return whether a name is the wildcard's pieces in their order, with any text for each *.

    Each piece between two stars is taken where it is found first: what is behind a later place is
    behind the first one too. So nothing is tried twice, where a regular expression takes time that
    is exponential in the number of stars.
    """
    first, *between = wildcard.split("*")
    if not between:
        return name == wildcard
    last = between.pop()
    at, end = len(first), len(name) - len(last)
    if at > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for piece in between:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def alike_columns(columns: Sequence[tuple[str, str]]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return wildcards for columns (name, type), each with the names that it matches: eight or
    more of one type, which differ in a number at their end.

    Of wildcards that would fit each other's columns the one of more columns is taken.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name, kind in columns:
        prefix = name.rstrip("0123456789")
        if prefix not in ("", name) and "*" not in name:
            groups.setdefault((prefix, kind), []).append(name)
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    taken: list[str] = []
    for (prefix, _), names in sorted(groups.items(), key=lambda group: -len(group[1])):
        fits_another = any(prefix.startswith(t) or t.startswith(prefix) for t in taken)
        if len(names) >= _MANY and not fits_another:
            taken.append(prefix)
            found |= dict.fromkeys(names, (f"{prefix}*", tuple(names)))
    return found
