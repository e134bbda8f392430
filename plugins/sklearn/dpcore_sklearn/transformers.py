"""Transformers that learn nothing from rows: each cell becomes what public facts say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.columns import Numeric
from dpcore_sklearn.public import described_schema, public_fills
from dpcore_sklearn.rows import columns_of, names_of
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.cells.features import features_of
from dpcore_tables.kinds import Categorical

if TYPE_CHECKING:
    from typing import Self

    from dpcore import Schema
    from dpcore_tables.cells.typed import Cells

__all__ = ["PublicEncoder", "PublicScaler"]

_LABEL = {"lower": 0.0, "upper": 1.0}
"""A transformer has no label, and a schema one."""
_NO_NUMBER = (
    "a cell is NaN, infinite or no number. PublicScaler(fill=...) says what an empty one counts "
    "as: a public number, or one for each column by name."
)


@dataclass(kw_only=True, eq=False, repr=False)
class PublicTransformer(ABC, TransformerMixin, BaseEstimator):
    """A transformer whose fit takes the number of columns and their names, and reads no cell."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the number of columns and their names, and check the parameters against them."""
        names = names_of(X)
        validate_data(self, X, skip_check_array=True)
        self._schema(names)
        return self

    def _read(self, X: Any) -> tuple[list[Cells], Schema]:
        check_is_fitted(self)
        names = names_of(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return columns_of(X), self._schema(names)

    @abstractmethod
    def _schema(self, names: Sequence[str]) -> Schema:
        """Return the schema that the parameters and the columns' names make."""


@dataclass(kw_only=True, eq=False, repr=False)
class PublicScaler(OneToOneFeatureMixin, PublicTransformer):
    """A scaler of numbers from public bounds to [0, 1]; it learns nothing from rows.

    Parameters
    ----------
    bounds : (lower, upper), each a number or one per column, or a mapping of names to such pairs.
    fill : the public number that an empty cell (NaN, None, blank) counts as, or a mapping of names
        to such numbers; without one such a cell is refused.

    Examples
    --------
    >>> from dpcore_sklearn import PublicScaler
    >>> PublicScaler(bounds=([0, 10], [1, 20])).fit_transform([[0.5, 99], [-3, 15]])
    array([[0.5, 1. ],
           [0. , 0.5]])
    """

    bounds: Sequence[Any] | Mapping[str, Any] | None = None
    fill: float | Mapping[str, float] | None = None

    def transform(self, X: Any) -> np.ndarray:
        """Return the cells between 0 and 1, float64.

        Raises DataError for a cell that is no finite number, but for an empty one with a fill.
        """
        columns, schema = self._read(X)
        scaled = np.empty((len(columns[0]), len(columns)))
        for j, (cells, column) in enumerate(zip(columns, schema.features, strict=True)):
            assert isinstance(column, Numeric)
            numbers, fault, _ = convert_column(cells, column, schema.notation, "X")
            if fault is not None and fault.any():
                raise DataError(f"X, column {column.name!r}: {_NO_NUMBER}")
            (scaled[:, j],) = features_of(column.encoding, numbers)
        return scaled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.fill is not None
        return tags

    def _schema(self, names: Sequence[str]) -> Schema:
        schema = described_schema(names, self.bounds, None, {**_LABEL}, None)
        fills = public_fills(self.fill, names)
        columns = []
        for column in schema.features:
            assert isinstance(column, Numeric)
            columns.append(replace(column, fill=fills.get(column.name)))
        return replace(schema, columns=(*columns, schema.label))


@dataclass(kw_only=True, eq=False, repr=False)
class PublicEncoder(PublicTransformer):
    """An encoder of public categories as features of 0 and 1; it learns nothing from rows.

    A cell that holds no listed category is zeros in all features of its column.

    Parameters
    ----------
    categories : a list of categories for each column, in order, or a mapping of names to lists.

    Examples
    --------
    >>> from dpcore_sklearn import PublicEncoder
    >>> PublicEncoder(categories=[["Bern", "Basel"]]).fit_transform([["Basel"], ["Paris"]])
    array([[0., 1.],
           [0., 0.]])
    """

    categories: Sequence[Sequence[Any]] | Mapping[str, Sequence[Any]] | None = None

    def transform(self, X: Any) -> np.ndarray:
        """Return a feature for each category, float64."""
        columns, schema = self._read(X)
        encoded = []
        for cells, column in zip(columns, schema.features, strict=True):
            assert isinstance(column, Categorical)
            codes, _, _ = convert_column(cells, column, schema.notation, "X")
            encoded.append(codes[:, np.newaxis] == np.arange(len(column.categories)))
        return np.hstack(encoded).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return ``column=category`` for each feature."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            names = [f"x{j + 1}" for j in range(self.n_features_in_)]
        schema = self._schema([str(name) for name in names])
        return np.array(schema.feature_names[:-1], dtype=object)  # but for the intercept

    def _schema(self, names: Sequence[str]) -> Schema:
        given = self.categories
        if given is None:
            raise InvalidInputError("Expected public categories of each column.")
        if not isinstance(given, Mapping):
            if len(given) != len(names):
                raise InvalidInputError(
                    f"Expected a list of categories for each of {len(names)} columns, found "
                    f"{len(given)}."
                )
            given = dict(zip(names, given, strict=True))
        return described_schema(names, {}, given, {**_LABEL}, None)
