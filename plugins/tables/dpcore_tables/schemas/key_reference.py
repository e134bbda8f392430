"""The keys of a schema, those of every installed kind of column among them."""

from __future__ import annotations

from dpcore import Schema
from dpcore.plugin.columns import ColumnKind, Key
from dpcore_tables.kinds.crosses import CROSS_KEYS

__all__ = ["column_kinds", "keys_of", "reference"]


def column_kinds() -> dict[str, tuple[str, tuple[Key, ...]]]:
    """Return, by kind, what a column of it becomes, and its keys beside ``kind``."""
    return {
        kind.name: (kind.summary, ColumnKind.named(kind.name).keys)
        for kind in ColumnKind.installed()
    }


def keys_of(kind: str) -> frozenset[str]:
    """Return the names of the keys that a column of a kind may have."""
    return frozenset(key.name for key in ColumnKind.named(kind).keys)


def reference() -> str:
    """Return all keys of a schema, as ``dpcore schema --help-keys`` prints them."""
    lines = ["At the top of the file:", "", *_lines(Schema.KEYS), ""]
    lines += ['[columns], as in  age = { kind = "numeric", lower = 17, upper = 90 }', ""]
    for kind, (becomes, keys) in column_kinds().items():
        lines += [f'  kind = "{kind}": {becomes}', *_lines(keys, "    "), ""]
    lines += [
        'A name with a *, as in  "x*" = { kind = "numeric", lower = 0, upper = 1 }, stands for all',
        "columns of the file that the schema does not name otherwise; the first that fits holds.",
        "",
        "[[crosses]]: a combination of the levels of columns, one-hot",
        "",
        *_lines(CROSS_KEYS),
    ]
    return "\n".join(lines) + "\n"


def _lines(keys: tuple[Key, ...], indent: str = "  ") -> list[str]:
    return [f"{indent}{f'{key.name} = {key.example}':<38}  {key.meaning}" for key in keys]
