"""The schema of a table, all public: columns, bounds, categories, classes. Encoding uses no more.
It is a TOML file; ``dpcore.data.schema.keys`` has all of its keys::

    rows = 48842              # a public value for the number of rows (not a count of the rows at
                              # hand, where their number is private)
    missing = ["", "NA"]      # words for no value

    [columns]                 # in the order of the features; of the file, where it has no header
    age = { kind = "numeric", lower = 17, upper = 90, fill = 40 }
    city = { kind = "categorical", categories = ["Bern", "Basel", "Genf"] }
    "x*" = { kind = "boolean" }
    id = { kind = "drop" }
    income = { kind = "label", classes = ["<=50K", ">50K"] }

    [[crosses]]
    columns = ["city", "x1"]

What a label is says ``dpcore.data.schema.label``. A missing label is a malformed row; so is a
missing number without ``fill`` or ``indicator``; a missing category is all zeros, or what these
keys say. Where all of a column's categories or classes are ``true`` or ``false`` (text, in any
case, or TOML's own), cells are met in any case: ``TRUE``, ``True`` and a Parquet boolean too.

Files without named columns (LIBSVM, npz, a plain array) have ``width = 123``, the number of
features without the intercept, beside the label and a ``row_norm`` (default 1). Their values are
used as they are, and rows are scaled down to the row norm. Above a row norm of 2^8 the features
and it are divided by a power of two that brings it there; l2 weighs the coefficients of these.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar

from dpcore.data.registered_loader import registered_loader
from dpcore.data.schema.columns import (
    Column,
    Drop,
    FeatureColumn,
    Label,
    Numeric,
)
from dpcore.data.schema.consistency import INTERCEPT, NO_UNITS, SchemaKeys, check_consistency
from dpcore.data.schema.document import column_entries, document_of, typed_value
from dpcore.data.schema.features.encoded import EncodedColumns, encoded_columns
from dpcore.data.schema.features.encoding import Part
from dpcore.data.schema.installed import column_from_dict
from dpcore.data.schema.keys import TOP_KEYS, Key
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.plan import ColumnPlan
from dpcore.data.schema.unbounded_columns import require_private_bounds, waits
from dpcore.data.schema.values import Entry
from dpcore.errors import InvalidInputError, replacing

__all__ = ["INTERCEPT", "Schema"]

_DERIVED = ("notation", "label", "unbounded", "plans", "known")
_STORED_BITS = 8
"""Features as given are stored with norms up to 2^8: exact sums leave room for 2^12, but then none
for the noise of a small budget (at 2^10 dp-gd is refused at epsilon = 1)."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Schema(SchemaKeys):
    """The public description of a table, by the keys of the TOML file above.

    What follows from these is worked out when it is built, and nothing is kept in it later, so that
    it tells nothing of rows that it read: ``notation``, how cells of text are written; ``label``;
    ``unbounded``, the columns whose bounds are still to be released, in order, the label's too;
    ``plans``, by which the cells of the columns are read, and last the label's; ``known``, the
    encoded columns, ``None`` while wildcards stand for some.

    Raises InvalidInputError for a description that contradicts itself.
    """

    notation: Notation = field(init=False, repr=False, compare=False)
    label: Label = field(init=False, repr=False, compare=False)
    unbounded: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    plans: tuple[ColumnPlan, ...] = field(init=False, repr=False, compare=False)
    known: EncodedColumns | None = field(init=False, repr=False, compare=False)

    KEYS: ClassVar[tuple[Key, ...]] = TOP_KEYS

    def __post_init__(self) -> None:
        check_consistency(self)
        waiting = tuple(filter(waits, self.columns))
        known = None if self.wildcards else encoded_columns(self.columns, self.crosses)
        notation = Notation(self.missing, self.decimal, self.thousands)
        label = next(c for c in self.columns if isinstance(c, Label))
        read: list[FeatureColumn | Label] = [*(known.columns if known is not None else ()), label]
        plans = tuple(ColumnPlan.of(column, notation) for column in read)
        for name, value in zip(_DERIVED, (notation, label, waiting, plans, known), strict=True):
            object.__setattr__(self, name, value)

    def with_units(self, unit: str | None, rows_per_unit: int | None = None, **keys: Any) -> Schema:
        """Return the schema whose guarantee is for units, ``None`` for rows. The column of ids is
        dropped, named or not. ``keys`` : the others about units, where they are not the default."""
        known = {column.name for column in self.columns}
        ids = () if unit is None or unit in known else (Drop(unit),)
        keys = {**NO_UNITS, "rows_per_unit": rows_per_unit, **keys}
        return replace(self, columns=(*self.columns, *ids), unit=unit, **keys)

    def require_bounds(self) -> None:
        """Raise InvalidInputError for columns whose bounds are still to be released."""
        if self.unbounded:
            raise InvalidInputError(
                f"The bounds of column {self.unbounded[0].name!r} are private: a fit of one model "
                "releases them, within its own budget. Here bounds have to be public."
            )

    @property
    def encoded(self) -> EncodedColumns:
        """The columns that are encoded, and their features; InvalidInputError while they are not
        known."""
        if self.known is None:
            raise InvalidInputError(
                f"The schema's {self.wildcards[0]!r} stands for columns of a file or a frame with "
                "names: these rows have none."
            )
        return self.known

    @property
    def features(self) -> tuple[FeatureColumn, ...]:
        """The columns that are encoded, in order."""
        return self.encoded.columns

    @property
    def parts(self) -> tuple[Part, ...]:
        """The features of columns and crosses, as rows hold them, without the intercept."""
        return self.encoded.parts

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per encoded feature, ``column=category`` for one-hot, the intercept last."""
        if self.width is not None:
            names = [f"x{i}" for i in range(1, self.width + 1)]
        else:
            names = self.encoded.names
        return (*names, INTERCEPT) if self.intercept else tuple(names)

    @property
    def number_features(self) -> tuple[int, ...]:
        """The places of the features that hold a numeric column's number between its bounds,
        private ones included: a public fact. Of unnamed features nothing is known."""
        return tuple(at for at, of in self._placed() if isinstance(of, Numeric) or waits(of))

    @property
    def curve_features(self) -> tuple[tuple[int, int], ...]:
        """First place and number of the hat functions behind each such number that has some."""
        return tuple(
            (at + sum(part.width for part in of.parts[:-1]), of.parts[-1].width)
            for at, of in self._placed()
            if (isinstance(of, Numeric) or waits(of)) and of.parts[-1].width > 1
        )

    def _placed(self) -> zip[tuple[int, FeatureColumn]]:
        columns = self.features if self.width is None else ()
        places = accumulate((sum(part.width for part in of.parts) for of in columns), initial=0)
        return zip(places, columns, strict=False)  # The last place is behind all of them.

    @property
    def n_features(self) -> int:
        """The number of encoded features, the intercept included."""
        if self.width is not None:
            return self.width + self.intercept
        return self.encoded.width + self.intercept

    @property
    def w_shape(self) -> tuple[int, ...]:
        """The shape of coefficients: (n_features,), of three classes and more a row for each."""
        k = self.label.n_margins
        return (self.n_features,) if k == 1 else (k, self.n_features)

    @property
    def square(self) -> int:
        """An upper bound of the square of every encoded row's l2 norm, of named columns: the sum
        of what each column's kind states, 1 for each cross, and 1 for the intercept."""
        return self.encoded.square + self.intercept

    @property
    def raw_norm_bound(self) -> float:
        """An upper bound of every encoded row's l2 norm before it is scaled down, rounded up.

        Unnamed features are scaled down while loading: there it is ``row_norm``.
        """
        if self.width is not None:
            return self.row_norm
        root = math.sqrt(self.square)
        return root if Fraction(root) ** 2 >= self.square else math.nextafter(root, math.inf)

    @property
    def feature_scale(self) -> float:
        """The public power of two that unnamed features are multiplied by, but for the intercept:
        1, or what brings a ``norm`` above 2^8 there."""
        if self.width is None or self.norm is None:
            return 1.0
        mantissa, exponent = math.frexp(self.norm)
        return 2.0 ** min(0, _STORED_BITS - exponent + (mantissa == 0.5))

    @property
    def row_norm(self) -> float:
        """The public bound of every row's l2 norm after scaling."""
        if self.norm is not None:
            return self.norm * self.feature_scale
        return 1.0 if self.width is not None else self.raw_norm_bound

    @property
    def why_not_private(self) -> tuple[str, ...]:
        """The clauses of what voids the guarantee: that it was read off the rows."""
        if not self.from_data:
            return ()
        return ("bounds, categories, classes or a step before the fit were read off the rows",)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], private_bounds: bool = False) -> Schema:
        """Return the schema that ``to_dict`` or the TOML file describes.

        ``columns`` may be a table, or a list of tables with a ``name`` each. ``private_bounds`` :
        whether numeric columns without bounds have private ones.
        Raises InvalidInputError for unknown keys and wrong values.
        """
        if not isinstance(data, Mapping):
            raise InvalidInputError("Expected a schema to be a table of keys.")
        known = [*(key.name for key in cls.KEYS), "columns", "crosses"]
        Entry("the schema", data).check_keys(known)
        described = _documents().with_private_bounds if private_bounds else (lambda entry: entry)
        entries = column_entries(data.get("columns"))
        columns = tuple(column_from_dict(name, described(entry)) for name, entry in entries)
        tables = {"columns", "crosses"}
        values = {key: typed_value(key, value) for key, value in data.items() if key not in tables}
        if "row_norm" in values:
            values["norm"] = values.pop("row_norm")
        if isinstance(data["columns"], Mapping):
            values.setdefault("wildcards", cls.with_a_star(columns))
        of_units = {key: values.pop(key) for key in ("unit", *NO_UNITS) if key in values}
        crosses = _documents().crosses(data["crosses"]) if "crosses" in data else ()
        schema = cls(columns, crosses=crosses, **values)
        schema = schema.with_units(of_units.pop("unit", None), **of_units) if of_units else schema
        require_private_bounds(schema.unbounded if private_bounds else None)
        return schema

    def for_names(self, names: Sequence[str]) -> Schema:
        """Return the schema of columns of these names: its wildcards stand for some of them."""
        if not self.wildcards:
            return self
        columns = _documents().schema_columns(self.columns, self.wildcards, names)
        return replace(self, columns=columns, wildcards=())

    @staticmethod
    def with_a_star(columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the names that are wildcards in a table of columns which does not list them."""
        return tuple(c.name for c in columns if "*" in c.name and not isinstance(c, Label))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able description; the columns are a list, so that their order is kept."""
        return document_of(self)

    def anew(self) -> Schema:
        """Return an equal schema, built from the keys of this one as its file would have them: it
        holds nothing else that this one, or a class of its own, may hold."""
        return Schema.from_dict(json.loads(json.dumps(self.to_dict())))

    @classmethod
    def from_toml(
        cls, text: str, source: str = "the schema", private_bounds: bool = False
    ) -> Schema:
        """Return the schema of TOML text. InvalidInputError names ``source`` if it is none."""
        return _checked(_documents().schema_keys(text, source), source, private_bounds)

    @classmethod
    def read(cls, path: str | os.PathLike[str], private_bounds: bool = False) -> Schema:
        """Return the schema of a TOML file, or the shipped one of that name where there is no such
        file; InvalidInputError if it cannot be read or is wrong."""
        return _checked(_documents().schema_file(path), os.fspath(path), private_bounds)

    def to_toml(self) -> str:
        """Return the TOML text that ``from_toml`` reads back as an equal schema."""
        return str(_documents().schema_toml(self))


def _checked(keys: Mapping[str, Any], source: str, private_bounds: bool) -> Schema:
    """Return the schema of the keys of a document; InvalidInputError names the document."""
    with replacing(InvalidInputError, by=lambda e: InvalidInputError(f"{source}: {e}")):
        return Schema.from_dict(keys, private_bounds)


def _documents() -> Any:
    """Return what reads and writes schemas as documents, a ``dpcore.data.loader.FileLoader``."""
    return registered_loader("schemas in files")[1]
