"""The keys of a schema, and checks of them as a whole: whether they contradict each other."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpcore.data.schema.columns import Column, Drop, Label
from dpcore.data.schema.features.transforms import Lookup
from dpcore.data.schema.named_ledger import check_ledger, ledgers
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.unbounded_columns import require_private_bounds
from dpcore.errors import InvalidInputError
from dpcore.privacy.unit_of_privacy import Units

__all__ = ["INTERCEPT", "NO_UNITS", "SchemaKeys", "check_consistency"]

INTERCEPT = "intercept"
"""The name of the intercept among the features."""

_SEPARATOR = re.compile(r"[ !#-/:-@\[-`{-~]")
"""Printable, no letter, digit or quote."""
_MOST_CROSSES = 1000
_LEAST_NORM, _LARGEST_NORM = 2.0**-8, 2.0**512

NO_UNITS: dict[str, Any] = {
    "rows_per_unit": None,
    "unit_missing": "refuse",
    "unit_in_one_file": False,
}
"""The keys beside ``unit``, as they are without it."""


@dataclass(frozen=True, slots=True)
class SchemaKeys:
    """The keys of a schema, as its TOML file has them.

    Parameters
    ----------
    columns : in order; exactly one is a ``Label``.
    width : the number of unnamed features, where only the label is in ``columns``.
    norm : the ``row_norm`` that was set, or ``None`` for the bound that follows.
    crosses : columns whose levels are combined.
    wildcards : names that stand for some of a file's columns, until ``for_names`` says which.
    unit, rows_per_unit, unit_missing : as ``units`` has them.
    unit_in_one_file : the claim that no unit has rows in two files, or partitions of a frame.
    from_data : whether bounds or categories were read off the rows: a fit is then not private.
    ledger : the ledger that runs are charged to; in a TOML file from that file's folder on.
    """

    columns: tuple[Column, ...]
    width: int | None = None
    rows: int | None = None
    capacity: int | None = None
    norm: float | None = None
    intercept: bool = True
    header: bool = True
    separator: str = ","
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ("",)
    decimal: str = "."
    thousands: str = ""
    from_data: bool = False
    crosses: tuple[Any, ...] = ()
    wildcards: tuple[str, ...] = ()
    unit: str | None = None
    rows_per_unit: int | None = None
    unit_missing: str = "refuse"
    unit_in_one_file: bool = False
    ledger: str | None = None

    @classmethod
    def given(cls: Any, schema: Any, private_bounds: bool = False) -> Any:
        """Return the schema of a Schema, a mapping of keys, the path of a TOML file or the name of
        a shipped one; ``None`` for none. It is never the caller's own object, which is not to read
        rows.

        ``private_bounds`` : those of its numeric columns without any."""
        if schema is None:
            return None
        if isinstance(schema, Mapping):
            found = cls.from_dict(schema, private_bounds)
        elif isinstance(schema, (str, os.PathLike)):
            found = cls.read(schema, private_bounds)
        elif isinstance(schema, cls):
            if private_bounds:
                require_private_bounds(schema.unbounded)
            found = schema.anew()
        else:
            raise InvalidInputError("Expected schema to be a Schema, a mapping, a path or a name.")
        found.require_ledger()
        return found

    def require_ledger(self) -> None:
        """Raise RegistryError, with what to install, where a ledger is named and no package that
        keeps ledgers is installed: before any row is read."""
        if self.ledger:
            ledgers()

    @staticmethod
    def refuse_beside(owner: str, **options: Any) -> None:
        """Raise InvalidInputError for an option that was given beside a schema, which has its own.

        A ``row_norm`` of 1 cannot be told from the default, and is passed over.
        """
        for name, value in options.items():
            if value is not None and not (name == "row_norm" and value == 1.0):
                raise InvalidInputError(f"Expected {name} to be left to {owner}.")

    @staticmethod
    def beside_units(schema: Any, unit: str | None, k: int | None) -> Any:
        """Return the schema with the units that were asked for beside it, if any were, at most
        ``k`` rows of each."""
        if unit is None and k is None:
            return schema
        if schema is None:
            raise InvalidInputError(
                "Expected unit, a column's name, beside a schema of the columns. (A store has "
                "the units of the schema that it was converted with.)"
            )
        if unit is not None and schema.unit not in (None, unit):
            raise InvalidInputError(
                f"The schema's unit is {schema.unit!r}, not {unit!r}; name it in one place."
            )
        k = schema.rows_per_unit if k is None else k
        others = {"unit_missing": schema.unit_missing, "unit_in_one_file": schema.unit_in_one_file}
        return schema.with_units(unit or schema.unit, k, **others)

    @property
    def units(self) -> Units | None:
        """The units of several rows that the guarantee is for; ``None`` for rows."""
        return _units_of(self.unit, self.rows_per_unit, self.unit_missing, self.unit_in_one_file)


def check_consistency(schema: SchemaKeys) -> None:
    """Raise InvalidInputError for a schema that contradicts itself."""
    _check_unit_column(schema.units, schema.columns, schema.width)
    _check_columns(schema.columns, schema.width, schema.intercept)
    _check_counts(schema)
    if schema.separator not in ("whitespace", "\t") and not _SEPARATOR.fullmatch(schema.separator):
        raise InvalidInputError(
            f'Expected separator={schema.separator!r} to be one character or "whitespace".'
        )
    notation = Notation(schema.missing, schema.decimal, schema.thousands)
    for column in schema.columns:
        _check_not_missing(column, notation)
    names = {column.name for column in schema.columns if not isinstance(column, Label)}
    if not names.issuperset(schema.wildcards):
        raise InvalidInputError("Expected wildcards to be names of columns, not of the label.")
    crosses = schema.crosses
    if len(set(crosses)) < len(crosses) or len(crosses) > _MOST_CROSSES:
        raise InvalidInputError(f"Expected up to {_MOST_CROSSES} crosses, no two alike.")
    if schema.ledger is not None:
        check_ledger(schema.ledger)


def _check_columns(columns: Sequence[Column], width: int | None, intercept: bool) -> None:
    repeated = [n for n, k in Counter(c.name for c in columns).items() if k > 1]
    if repeated:
        raise InvalidInputError(f"Duplicate column {repeated[0]!r} in the schema.")
    labels = [c.name for c in columns if isinstance(c, Label)]
    if len(labels) != 1:
        found = f"columns {labels[0]!r} and {labels[1]!r} are labels" if labels else "none is"
        raise InvalidInputError(f"Expected one column of kind label in the schema; {found}.")
    if width is None and all(isinstance(c, (Label, Drop)) for c in columns):
        raise InvalidInputError("The schema has no columns to learn from.")
    if width is not None and len(columns) > 1:
        raise InvalidInputError("A schema with a width has no columns but the label.")
    if intercept and any(c.name == INTERCEPT for c in columns if not isinstance(c, (Label, Drop))):
        raise InvalidInputError(f"A column named {INTERCEPT!r} needs intercept = false.")


def _check_counts(schema: SchemaKeys) -> None:
    for key, bits in (("width", 31), ("rows", 40), ("capacity", 40)):
        value = getattr(schema, key)
        if value is not None and not 1 <= value < 2**bits:
            # Python writes no number of more than 4,300 digits out.
            named = f"{key}={value}" if abs(value) < 2**64 else key
            raise InvalidInputError(f"Expected 1 <= {named} < 2^{bits}.")
    if schema.norm is not None and not _LEAST_NORM <= schema.norm <= _LARGEST_NORM:
        raise InvalidInputError(f"Expected 2^-8 <= row_norm={schema.norm} <= 2^512.")


def _check_not_missing(column: Column, notation: Notation) -> None:
    if isinstance(column, Drop):
        return
    notation = notation.with_words(column.missing)
    if isinstance(column, Label):
        values = column.values
    else:
        reading = column.encoding.reading
        values = reading.values if isinstance(reading, Lookup) else ()
    for value in values:
        if notation.means_none(value):
            raise InvalidInputError(
                f"Value {value!r} of column {column.name!r} is also in missing = [...]; for a "
                "category of the empty cell, set indicator = true."
            )


def _units_of(
    unit: str | None, rows_per_unit: int | None, missing: Any, in_one_file: bool
) -> Units | None:
    """Return the units that four keys mean, ``None`` for rows; InvalidInputError for keys that
    contradict each other. ``in_one_file`` : a claim that a table in one piece does not rest on."""
    if unit is None:
        if (rows_per_unit, missing, in_one_file) != (None, "refuse", False):
            raise InvalidInputError(
                "Expected unit = COLUMN beside rows_per_unit, unit_missing or unit_in_one_file."
            )
        return None
    if rows_per_unit is None:
        raise InvalidInputError(
            f"Expected rows_per_unit beside unit = {unit!r}: at most how many rows of each are "
            "used. It is public; more rows cost more noise."
        )
    return Units(unit, rows_per_unit, missing)


def _check_unit_column(units: Units | None, columns: Sequence[Column], width: int | None) -> None:
    """Raise InvalidInputError for a column of ids that is used otherwise, or is not there."""
    if units is None:
        return
    if width is not None:
        raise InvalidInputError(
            f"unit = {units.column!r} needs named columns, and a schema with a width has none."
        )
    if not any(column.name == units.column and isinstance(column, Drop) for column in columns):
        raise InvalidInputError(
            f"The column {units.column!r} says whose a row is, and is no feature and no label: "
            'expected kind = "drop" for it, or no entry.'
        )
