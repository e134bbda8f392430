"""Joins by the ids of units, which need no claim.

Let a query select from tables T1, ..., Tm, joined by INNER JOIN, each to an earlier one by
``id = id`` and by any further conditions. Proof that the rows of its result with the id u follow
from the rows with that id in T1, ..., Tm alone:

1. A row of the result is made of one row r_i of each table. The conditions put r_i.id = r_j.id for
   pairs that connect all tables, and expressions, WHERE and further conditions are functions of
   these rows (the list in ``queries``). So it is there, or not, and has its values, by them alone.
2. All r_i.id are the same value. This needs an ``=`` that holds for equal values alone: columns of
   exactly one type, a whole number, a uuid, or text of a deterministic collation, whose equality
   is that of their bytes. A ``numeric``, ``float``, ``char(n)`` or ``citext`` may be equal and
   another text, so that one person's row meets another's; NULL is equal to nothing.
3. The result's column of ids is one of these columns, and ids that are alike to the database are
   one unit here: a unit is a union of ids. An id that counts as missing has to make its row
   malformed, since rows that are units by themselves (``unit_missing = "row"``) could share r_j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["folded", "is_joined_by", "require_alike_ids"]

_PARTS = {"this", "kind", "on", "using"}
_IDS = """
SELECT atttypid::int, (attcollation = 0 OR EXISTS (
    SELECT FROM pg_catalog.pg_collation WHERE oid = attcollation AND collisdeterministic))
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_operator WHERE oprname IN ('=', '==')
        AND atttypid IN (oprleft, oprright) AND oprnamespace <> 'pg_catalog'::regnamespace)
FROM pg_catalog.pg_attribute
WHERE attrelid = to_regclass(%s) AND attname = %s AND attnum > 0 AND NOT attisdropped
"""
"""Finds the type of a column of ids, and whether its ``=`` is PostgreSQL's own, by bytes, and
no ``==``, which sqlglot takes for it, is another's."""
_ALIKE = (20, 21, 23, 25, 2950)
"""Types whose equal values are the same text: whole numbers, text and uuid."""


def folded(name: str, is_quoted: bool) -> str:
    """Return a name as PostgreSQL has it: without quotes, A to Z are small, and no other letter is
    (``downcase_identifier`` in ``scansup.c``; other letters too where each is one byte)."""
    return name if is_quoted else "".join(c.lower() if c.isascii() else c for c in name)


def is_joined_by(tree: Any, unit: str) -> bool:
    """Return whether a SELECT joins all its tables by a column, which the result has too; names as
    PostgreSQL folds them. What else it may have, and the column's types, are looked at elsewhere.
    """
    joins = tree.args.get("joins") or []
    origin = tree.args.get("from_") or tree.args.get("from")
    if not joins or origin is None:
        return False
    tables = [origin.this, *(join.this for join in joins)]
    names = [_folded(table.args.get("alias") or table) for table in tables]
    if not all(map(_is_plain, tables)) or len({*names}) < len(names):
        return False
    connected = (
        _connects(join, unit, names[:place], names[place]) for place, join in enumerate(joins, 1)
    )
    return all(connected) and _has_ids(tree, unit)


def require_alike_ids(
    connection: Any, unit: str, names: Sequence[str], refuse: Callable[[str], None]
) -> None:
    """Refuse, by a clause, where PostgreSQL's catalogue does not say of the column of ids that
    equal ids are the same. ``names`` : of the tables, every part quoted."""
    asked = [(name, unit) for name in names]
    found = [row for each in asked for row in connection.execute(_IDS, each).fetchall()]
    kinds = {kind if is_alike else None for kind, is_alike in found}
    if len(found) < len(asked) or len(kinds) > 1 or not kinds <= {*_ALIKE}:
        refuse(
            f"tables are joined by {unit!r}, whose types are not one and the same of "
            "whole numbers, uuid, and text of a deterministic collation: two ids may be equal "
            "there and not the same here"
        )


def _is_plain(table: Any) -> bool:
    """Return whether a table has its columns under their own names."""
    alias = table.args.get("alias")
    is_table = type(table).__name__ == "Table" and type(table.this).__name__ == "Identifier"
    return is_table and not (alias is not None and alias.args.get("columns"))


def _connects(join: Any, unit: str, before: list[str], name: str) -> bool:
    """Return whether a join is by the ids of its table and of an earlier one."""
    given = {key for key, value in join.args.items() if value}
    if not given <= _PARTS or join.args.get("kind") not in (None, "", "INNER"):
        return False
    using, on = join.args.get("using"), join.args.get("on")
    if using:
        return on is None and [_folded(each) for each in using] == [unit]
    return on is not None and any(_is_of_ids(each, unit, before, name) for each in _conditions(on))


def _conditions(on: Any) -> Iterator[Any]:
    """Yield the conditions that have all to hold."""
    kind = type(on).__name__
    if kind == "And":
        yield from _conditions(on.this)
        yield from _conditions(on.expression)
    elif kind == "Paren":
        yield from _conditions(on.this)
    else:
        yield on


def _is_of_ids(condition: Any, unit: str, before: list[str], name: str) -> bool:
    """Return whether a condition is ``a.id = b.id`` of an earlier table and this one."""
    if type(condition).__name__ != "EQ":
        return False
    tables = [_table_of_id(side, unit) for side in (condition.this, condition.expression)]
    return name in tables and any(table in before for table in tables)


def _table_of_id(side: Any, unit: str) -> str | None:
    """Return the name that a column of ids has before it, ``None`` for anything else."""
    is_column = type(side).__name__ == "Column" and {k for k, v in side.args.items() if v} == {
        "this",
        "table",
    }
    return _folded(side.args["table"]) if is_column and _folded(side.this) == unit else None


def _has_ids(tree: Any, unit: str) -> bool:
    """Return whether one column of the result, and no other, has the name of the ids and is one."""
    ids = 0
    for shown in tree.expressions:
        column = shown.this if type(shown).__name__ == "Alias" else shown
        if any(type(node).__name__ == "Star" for node in shown.walk()):
            return False
        named = shown.args["alias"] if column is not shown else column.this
        if type(named).__name__ == "Identifier" and _folded(named) == unit:
            if type(column).__name__ != "Column" or _folded(column.this) != unit:
                return False
            ids += 1
    return ids == 1


def _folded(named: Any) -> str:
    """Return the name of an identifier, or of what has one, as PostgreSQL folds it."""
    while type(named).__name__ != "Identifier":
        named = named.this
    return folded(str(named.name), bool(named.args.get("quoted")))
