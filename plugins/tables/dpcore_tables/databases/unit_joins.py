"""Joins by the ids of units, which need no claim.

Let a query select from tables T1, ..., Tm, joined by INNER JOIN, each to an earlier one by
``id = id`` and by any further conditions. Proof that the rows of its result with the id u follow
from the rows with that id in T1, ..., Tm alone:

1. A row of the result is made of one row r_i of each table. The conditions put r_i.id = r_j.id for
   pairs that connect all tables, and expressions, WHERE and further conditions are functions of
   these rows (the list in ``queries``). So it is there, or not, and has its values, by them alone.
2. All r_i.id are the same value. This needs an ``=`` that holds for equal values alone: columns of
   exactly one type, a whole number, a uuid, or text whose equality is that of its bytes. A
   ``numeric``, ``float``, ``char(n)`` or ``citext`` may be equal and another text, so that one
   person's row meets another's; NULL is equal to nothing. PostgreSQL and DuckDB hold every cell to
   the type that is declared; SQLite does so in STRICT tables alone, and else compares 1 and 1.0,
   or a number and text, as equal. A collation may make two texts equal: PostgreSQL's catalogue
   says which are deterministic, in the others a table with one needs the claim.
3. The result's column of ids is one of these columns (``info.id`` may be a field of a column of
   DuckDB's, and is none unless ``info`` is a table), and ids that are alike to the database are
   one unit here: a unit is a union of ids. An id that counts as missing has to make its row
   malformed, since rows that are units by themselves (``unit_missing = "row"``) could share r_j.
   A database calls expressions as it likes (SQLite by their text), so that the column with the
   name of the ids has to be where the query shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dpcore import Schema

__all__ = [
    "Folds",
    "JoinedIds",
    "folded",
    "ids_of_join",
    "require_alike_in_postgresql",
    "lowered",
    "unit_of",
]

Folds: TypeAlias = Callable[[str, bool], str]
"""Returns a name, which is quoted or not, as a database compares it with others."""

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


def lowered(name: str, is_quoted: bool) -> str:
    """Return a name as DuckDB and SQLite compare it: A to Z are small, in quotes too."""
    return folded(name, False)


def unit_of(schema: Schema) -> str | None:
    """Return the column of ids that tables may be joined by without a claim, if there is one."""
    return schema.unit if schema.unit_missing == "refuse" else None


@dataclass(frozen=True)
class JoinedIds:
    """The ids that the tables of a query are joined by.

    Parameters
    ----------
    unit : the name of their column.
    place : of this column in the result.
    """

    unit: str
    place: int

    def require_alike(
        self, kinds: Sequence[Any], allowed: str, refuse: Callable[[str], None]
    ) -> None:
        """Refuse, by a clause, columns that are not of one type whose equal ids are the same.

        ``kinds`` : of each table; ``None`` for another type. ``allowed`` : types in words.
        """
        if None in kinds or len({*kinds}) != 1:
            refuse(
                f"tables are joined by {self.unit!r}, whose types are not one and the same of "
                f"{allowed}: two ids may be equal there and not the same here"
            )

    def require_named(self, names: Sequence[str], refuse: Callable[[str], None]) -> None:
        """Refuse, by a clause, a result that has another name where the query shows the ids."""
        if names[self.place] != self.unit:
            refuse(f"the result has another name than {self.unit!r} where the query shows the ids")


def ids_of_join(tree: Any, unit: str | None, folds: Folds) -> JoinedIds | None:
    """Return the ids by which a SELECT joins all its tables, and which its result has; ``None``
    of another. What else the SELECT may have, and the column's types, are looked at elsewhere."""
    joins = tree.args.get("joins") or []
    origin = tree.args.get("from_") or tree.args.get("from")
    if unit is None or not joins or origin is None:
        return None
    tables, named = [origin.this, *(join.this for join in joins)], _Names(unit, folds)
    names = [named.of(table.args.get("alias") or table) for table in tables]
    # SQLite takes one name for two tables, of which a column may be either's.
    if not all(map(_is_plain, tables)) or len({name.lower() for name in names}) < len(names):
        return None
    connected = (
        named.connects(join, names[:place], names[place]) for place, join in enumerate(joins, 1)
    )
    place = named.place_in(tree, names) if all(connected) else None
    return None if place is None else JoinedIds(unit, place)


def require_alike_in_postgresql(
    connection: Any, ids: JoinedIds, names: Sequence[str], refuse: Callable[[str], None]
) -> None:
    """Refuse, by a clause, ids unless PostgreSQL's catalogue says that equal ones are the
    same. ``names`` : of the tables, every part quoted."""
    found = [connection.execute(_IDS, (name, ids.unit)).fetchall() for name in names]
    kinds = [
        kind if is_alike and kind in _ALIKE else None
        for rows in found
        for kind, is_alike in rows or [(None, False)]
    ]
    told = "whole numbers, uuid, and text of a deterministic collation"
    ids.require_alike(kinds, told, refuse)


def _is_plain(table: Any) -> bool:
    """Return whether a table has its columns under their own names."""
    alias = table.args.get("alias")
    is_table = type(table).__name__ == "Table" and type(table.this).__name__ == "Identifier"
    return is_table and not (alias is not None and alias.args.get("columns"))


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


class _Names:
    """Names of a query as a database compares them, among them that of the ids."""

    def __init__(self, unit: str, folds: Folds) -> None:
        self._folds = folds
        self._unit = folds(unit, True)

    def of(self, named: Any) -> str:
        """Return the name of an identifier, or of what has one."""
        while type(named).__name__ != "Identifier":
            named = named.this
        return self._folds(str(named.name), bool(named.args.get("quoted")))

    def connects(self, join: Any, before: list[str], name: str) -> bool:
        """Return whether a join is by the ids of its table and of an earlier one."""
        given = {key for key, value in join.args.items() if value}
        if not given <= _PARTS or join.args.get("kind") not in (None, "", "INNER"):
            return False
        using, on = join.args.get("using"), join.args.get("on")
        if using:
            return on is None and [self.of(each) for each in using] == [self._unit]
        return on is not None and any(self._is_of_ids(c, before, name) for c in _conditions(on))

    def place_in(self, tree: Any, tables: list[str]) -> int | None:
        """Return the place of the one column of the result that has the name of the ids, and is
        one of the ``tables``; ``None`` where there is another, or none."""
        places = []
        for place, shown in enumerate(tree.expressions):
            column = shown.this if type(shown).__name__ == "Alias" else shown
            if any(type(node).__name__ == "Star" for node in shown.walk()):
                return None
            named = shown.args["alias"] if column is not shown else column.this
            if type(named).__name__ == "Identifier" and self.of(named) == self._unit:
                if not self._is_id(column) and self._table_of_id(column) not in tables:
                    return None
                places.append(place)
        return places[0] if len(places) == 1 else None

    def _is_of_ids(self, condition: Any, before: list[str], name: str) -> bool:
        """Return whether a condition is ``a.id = b.id`` of an earlier table and this one."""
        if type(condition).__name__ != "EQ":
            return False
        tables = [self._table_of_id(side) for side in (condition.this, condition.expression)]
        return name in tables and any(table in before for table in tables)

    def _table_of_id(self, side: Any) -> str | None:
        """Return the name that a column of ids has before it, ``None`` for anything else."""
        return self.of(side.args["table"]) if self._is_id(side, "table") else None

    def _is_id(self, side: Any, *before: str) -> bool:
        """Return whether this is a column with the name of the ids, and such names ``before``."""
        given = {key for key, value in side.args.items() if value}
        is_column = type(side).__name__ == "Column" and given == {"this", *before}
        return is_column and self.of(side.this) == self._unit
