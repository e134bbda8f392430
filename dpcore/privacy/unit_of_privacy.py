"""Units of several rows: whose addition, removal or replacement a guarantee is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import BLOCK_ROWS

__all__ = ["GIVEN_OF_QUERIES", "MISSING_IDS", "RowPart", "Units", "protected"]

MISSING_IDS = ("refuse", "row")
"""A row without an id is a bad row, or a unit by itself: never in one pool with others."""

GIVEN_OF_QUERIES = {
    "query": "the database's column types, and that each row of the query's result, which is what "
    "is protected, comes from one row of its table alone",
    "query of units": "the database's column types, and that each row of the query's result comes "
    "from rows of its unit alone",
    **{
        f"{how} query{types}{unit}": f"{given}{said} each row of its result{comes} alone"
        for how, said in (
            ("checked", "that, by the query's text,"),
            ("claimed", "the claim on the query that"),
        )
        for types, given in (("", ""), (" of types", "the database's column types, and "))
        for unit, comes in (
            ("", ", which is what is protected, comes from one row of its table"),
            (" of units", " comes from rows of its unit"),
        )
    },
}
"""Conditions on the rows of a query, by ``typed_by`` of a statement: the query was checked to be of
single rows or is claimed to be (models of before do not tell), and its columns have declared types,
or each cell has a type by itself."""


@dataclass(frozen=True)
class RowPart:
    """A part, in public words.

    Parameters
    ----------
    column : by which the rows are in parts.
    name : ``"column=level"``, the name of the level's feature.
    of : into how many listed levels the column divides the rows.
    query : as ``Dataset`` has it.
    """

    column: str
    name: str
    of: int
    query: str = ""


@dataclass(frozen=True, slots=True)
class Units:
    """All rows of one value of a column are one unit; at most ``rows_per_unit`` of them are used.

    Parameters
    ----------
    column : the column of ids, which is no feature.
    rows_per_unit : k, from 1 to the rows of a block.
    missing : ``"refuse"`` or ``"row"``.
    in_one_file : whether a guarantee rests on the claim that each unit's rows are in one file of
        the table, or in one partition of a frame.
    """

    column: str
    rows_per_unit: int
    missing: Literal["refuse", "row"] = "refuse"
    in_one_file: bool = False

    def __post_init__(self) -> None:
        k = self.rows_per_unit
        if type(k) is not int or not 1 <= k <= BLOCK_ROWS:
            raise InvalidInputError(
                f"Expected 1 <= rows_per_unit={k!r} <= {BLOCK_ROWS}: how many rows of one value of "
                f"unit={self.column!r} are used at most."
            )
        if self.missing not in MISSING_IDS:
            raise InvalidInputError(
                f"Expected unit_missing={self.missing!r} to be {' or '.join(MISSING_IDS)}."
            )

    @property
    def thing(self) -> str:
        """The name of a unit, without an article."""
        return f"value of {self.column!r}"

    @property
    def used(self) -> str:
        """How many rows of a unit are used, as a clause."""
        if self.rows_per_unit == 1:
            return "of which at most one is used"
        return f"of which at most {self.rows_per_unit:,} are used"

    def changed(self, relation: str) -> str:
        """Return the change between two neighbouring tables, in words."""
        if relation == "replace-one":
            k = "one" if self.rows_per_unit == 1 else f"{self.rows_per_unit:,}"
            return f"replacing all rows of any one {self.thing} by others (at most {k} of either)"
        is_grown = relation == "add-or-remove-one"
        how = "adding or removing" if is_grown else f"a change ({relation}) of"
        return f"{how} all rows of any one {self.thing}, {self.used},"

    @property
    def note(self) -> str:
        """The sentences about rows without an id, if they are used, and about the claim, with a
        blank before each."""
        per_row = " Rows without an id: per row." if self.missing == "row" else ""
        return per_row + (f" {self._claim}" if self.in_one_file else "")

    @property
    def _claim(self) -> str:
        return (
            f"That no {self.thing} has rows in two files or partitions of the table was taken as "
            "public, as the schema claims it; it was not checked."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        claim = {"rows_in_one_file": "claimed, not checked"} if self.in_one_file else {}
        return {
            "column": self.column,
            "rows_per_unit": self.rows_per_unit,
            "rows_without_an_id": "per row" if self.missing == "row" else "refused",
            **claim,
        }


def protected(units: Units | None) -> str:
    """Return what neighbouring tables differ in, in words: a row, or all rows of a unit."""
    return "a row" if units is None else f"all rows of a {units.thing}"
