"""Encoded rows with all that is public about them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.data.registered_loader import foreign_loader, registered_loader
from dpcore.data.schema.schema import Schema
from dpcore.data.splits import split_rows
from dpcore.data.units import Coins, UnitIds, coins_of, dense, kept_places, require_bounded
from dpcore.errors import InvalidInputError
from dpcore.privacy.unit_of_privacy import RowPart

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.blocks.layouts import Rows
    from dpcore.data.blocks.table import Table
    from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows as features and labels, and the public facts about them.

    Parameters
    ----------
    name : what to call it.
    X : ndarray (C order), CSR, coded rows or the rows of a store, of shape (n_rows, n_features),
        the intercept column included; every row's l2 norm is at most ``raw_norm_bound`` up to
        rounding.
    y : float64 of shape (n_rows,): -1 and +1; of three classes and more the place of the row's
        class, from 0.0; or a regression's clamped target scaled to [-1, 1].
    schema : the public description; from it alone follow the values below.
    is_generated : whether no row is of a person or thing: their values are no secret.
    units : the unit of each row, from 0 without a gap, where the schema has units; at most
        ``rows_per_unit`` rows have the same.
    rows_dropped : whether rows that did not satisfy the schema were left out, so that the number of
        rows must not be public.
    typed_by : ``"frame"`` or ``"file"`` where another program gave the columns their types, from
        all of their cells: that these are public is the caller's claim. Of a database's query
        the conditions on it (``dpcore.privacy.statement``).
    weights : the weight of each row, float64, as private as the row; ``None`` where all count once.
    part : which of a table's rows these are; ``None`` for all.
    read_by : ``"module:Class"`` of what read them, where it is registered.
    query : SHA-256 of the database's query that they are the result of; empty for other rows. By
        another query a row may have other cells, and be of another part.
    """

    name: str
    X: Rows
    y: np.ndarray
    schema: Schema
    is_generated: bool = False
    rows_dropped: bool = False
    typed_by: str | None = None
    units: np.ndarray | None = None
    weights: np.ndarray | None = None
    part: RowPart | None = None
    read_by: tuple[str, ...] = ()
    query: str = ""

    rests_on_claim: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.units is None) != (self.schema.unit is None):
            raise InvalidInputError(
                f"The guarantee is for units by {self.schema.unit!r}, whose ids {self.name} does "
                "not come with; give a file or a frame."
            )

    @property
    def n_units(self) -> int:
        """The number of units, rows where the schema has none: private under add-or-remove-one."""
        return int(self.X.shape[0]) if self.units is None else int(self.units.max(initial=-1)) + 1

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.schema.feature_names

    @property
    def n_features(self) -> int:
        return self.schema.n_features

    @property
    def raw_norm_bound(self) -> float:
        """Public bound of the l2 norm of the rows of ``X``."""
        return self.schema.raw_norm_bound

    @property
    def row_norm(self) -> float:
        """Public bound that rows are to be scaled down to, at most ``raw_norm_bound`` in use."""
        return min(self.schema.row_norm, self.schema.raw_norm_bound)

    @property
    def n0(self) -> int | None:
        """The schema's public value for the number of rows."""
        return self.schema.rows

    @property
    def capacity(self) -> int | None:
        return self.schema.capacity

    @property
    def from_data(self) -> bool:
        """True if the schema was derived from the rows: a fit is then not private."""
        return self.schema.from_data

    @classmethod
    def from_rows(
        cls,
        name: str,
        rows: tuple[Rows, np.ndarray | None],
        schema: Schema,
        is_generated: bool = False,
        ids: UnitIds | None = None,
        coins: Coins = os.urandom,
    ) -> Dataset:
        """Return the data set of encoded (X, y); InvalidInputError if the labels are not there.

        ``ids`` : of their units, where the schema has units: by ``coins``, fresh random bytes, at
        most ``rows_per_unit`` rows of each are kept (``dpcore.data.units``).
        """
        X, y = rows
        if y is None:
            raise InvalidInputError(f"{name}: the rows have no labels.")
        if ids is None or schema.units is None:
            return cls(name, X, y, schema, is_generated)
        units = ids.units()
        whole = cls(name, X, y, schema, is_generated, units=dense(units))
        return whole.take(kept_places(units, schema.units.rows_per_unit, coins))

    @staticmethod
    def by_loader(what: str, encode: Callable[[Any], Dataset]) -> Dataset:
        """Return the encoded rows that the installed loader (``dpcore.data.loader.FileLoader``)
        makes, which name it where it is not of this repository. ``what`` : it is to read. Raises
        InvalidInputError for anything but a Dataset."""
        entry, loader = registered_loader(what)
        data = encode(loader)
        if type(data) is not Dataset:
            raise InvalidInputError(f"{entry.target} made no Dataset of the rows.")
        return replace(data, read_by=(*data.read_by, *foreign_loader()))

    @staticmethod
    def from_file(path: str | os.PathLike[str], schema: Schema | None, **options: Any) -> Dataset:
        """Return the encoded rows of a file, read only.

        Parameters
        ----------
        target : the label's name, if it is to be confirmed.
        format : of the file, where its suffix does not say it.
        bad_rows : ``"refuse"``, or ``"drop"`` for rows that do not satisfy the schema: each line of
            text is a row by itself then, so that a cell with line breaks is a bad row too.
        name : what to call the rows.
        coins : as ``Dataset.from_rows`` takes them.
        weight : the column of the rows' weights, which are in ``weights`` then, as they stand.

        Raises InvalidInputError without a schema or for another target than its label, and
        DataError (file, line, column: for the owner's eyes) for a file that cannot be read or,
        unless bad rows are dropped, for the first row that does not satisfy the schema.
        """
        return Dataset.by_loader("files", lambda loader: loader.load(path, schema, **options))

    @staticmethod
    def declared_schema(load: Callable[[], Dataset]) -> Schema | None:
        """Return the public schema of a registered data set, which needs no rows: that of the
        loader's module, if there is one."""
        own = getattr(sys.modules.get(load.__module__), "schema", None)
        return own() if callable(own) else None

    def take(self, mask: np.ndarray) -> Dataset:
        """Return the rows where the bool array ``mask`` of shape (n_rows,) is true, or, of rows in
        memory, those at some places in their order."""
        from dpcore.data.blocks.frozen import freeze
        from dpcore.data.blocks.layouts import layout_of

        X = layout_of(self.X).freeze(self.X[mask])
        units = None if self.units is None else dense(self.units[mask])
        weights = None if self.weights is None else freeze(self.weights[mask])
        return replace(self, X=X, y=freeze(self.y[mask]), units=units, weights=weights)

    def with_weights(self, weights: np.ndarray, bound: float) -> Dataset:
        """Return the rows with weights, float64 of shape (n_rows,), held to a public bound;
        DataError for weights that are no numbers >= 0, or not as many."""
        from dpcore.data.blocks.frozen import freeze
        from dpcore.data.weighted_labels import paired

        paired(self.y, weights)
        return replace(self, weights=freeze(weights.clip(max=bound)))

    def against_the_rest(self, k: int) -> Dataset:
        """Return the rows with labels +1.0 for the class at place k and -1.0 for every other."""
        return replace(self, y=2.0 * (self.y == k) - 1.0)

    def split(
        self, fraction: float, relation: NeighboringRelation, seed: int | None
    ) -> tuple[Dataset, Dataset]:
        """Return the rows kept and the rows held out. A coin for each row or unit decides, or,
        where their number is public, a fixed number is held out."""
        held_out = split_rows(self.n_units, fraction, relation, coins_of(seed, "split"))
        if self.units is not None:  # A unit is on one side.
            held_out = held_out[self.units]
        return self.take(~held_out), self.take(held_out)

    def of_part(self, name: str | None) -> Dataset:
        """Return the rows of a part of a table, by its name; all rows for ``None``.

        Raises InvalidInputError for a name that is no level of a column with listed levels, rows
        that are in parts already, and units of several rows, which may be in more than one part.
        """
        return (
            self
            if name is None
            else Dataset.by_loader(
                "parts of tables", lambda loader: loader.rows_of_part(self, name)
            )
        )

    def marked_as(self, column: str, part: str, of: int) -> Dataset:
        """Return the rows as those of a part, of so many into which the column divides rows."""
        return replace(self, part=RowPart(column, part, of, self.query))

    def require_bounded(self) -> None:
        """Raise InvalidInputError for more rows of a unit than are used."""
        if self.units is not None and self.schema.units is not None:
            require_bounded(self.units, self.schema.units.rows_per_unit)

    def table(self) -> Table:
        """Return the rows in blocks, as an engine takes them; InvalidInputError while bounds of
        columns are still to be released."""
        from dpcore.data.blocks.table import Table

        self.require_bounded()
        schema = self.schema
        schema.require_bounds()
        row_norm, raw_norm_bound = schema.row_norm, schema.raw_norm_bound
        return Table.from_matrix(
            self.X,
            self.y,
            row_norm=min(row_norm, raw_norm_bound),
            raw_norm_bound=raw_norm_bound,
            capacity=schema.capacity,
            units=self.units,
            weights=self.weights,
        )

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, n_features={self.n_features})"
