"""Contributions of columns to a row's margin, in the unit of each, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.columns import transforms
from dpcore_report.intervals.estimate import NORMAL_975, Estimate, estimate_of
from dpcore_tables.cells.features import features_of

if TYPE_CHECKING:
    from dpcore.plugin.columns import FeatureColumn
    from dpcore.plugin.parts import Model

__all__ = ["Contribution", "contributions_of"]

_POINTS = 106
"""Cells of a number at which it is drawn: every knot of eight is one of them."""


@dataclass(frozen=True, eq=False)
class Contribution:
    """The contribution of a column.

    Parameters
    ----------
    cells : of a number, in its own unit, ascending, of a date in days since 1970-01-01; of a column
        of levels their names.
    added : to the margin, or, of a number to predict, in the unit of the target: float64 of shape
        (n_classes, n_cells), of two classes and of a number of one row.
    middle, reach : of a model with intervals, what the estimate at the population's minimum adds,
        and half the width of its 95 % interval, float64 of shape (n_cells,); else ``None``.
    empty : what an empty cell adds, of shape (n_classes,), where the schema allows one.
    is_date : whether cells are dates.
    """

    column: str
    cells: np.ndarray | tuple[str, ...]
    added: np.ndarray
    middle: np.ndarray | None = None
    reach: np.ndarray | None = None
    empty: np.ndarray | None = None
    is_date: bool = False


@dataclass(frozen=True, eq=False)
class _Parameters:
    """Coefficients of encoded features in the unit of the margin, and the estimate of intervals."""

    w: np.ndarray
    estimate: Estimate | None

    @classmethod
    def of(cls, model: Model) -> _Parameters:
        label = model.schema.label
        half = label.scale[1] if label.is_real and not model.log_link else 1.0
        found = estimate_of(model.intervals)
        if found is not None:
            found = Estimate(half * found.values, half**2 * found.covariance)
        return cls(half * np.atleast_2d(model.w), found)

    def at(
        self, first: int, features: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return what features (n_cells, n_features) from the first one on add: ``added``, and,
        with an estimate, its ``middle`` and ``reach``: for the block C of the covariance the
        variance of x.w is x^T C x."""
        own = slice(first, first + features.shape[1])
        added = self.w[:, own] @ features.T
        if self.estimate is None:
            return added, None, None
        block = self.estimate.covariance[own, own]
        variance = np.einsum("ij,jk,ik->i", features, block, features)
        reach = NORMAL_975 * np.sqrt(np.maximum(variance, 0.0))
        return added, features @ self.estimate.values[own], reach

    def of_each(
        self, first: int, width: int
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return the same of each of so many features alone: of a hashed column there are many."""
        own = slice(first, first + width)
        if self.estimate is None:
            return self.w[:, own], None, None
        variance = np.diagonal(self.estimate.covariance)[own]
        reach = NORMAL_975 * np.sqrt(np.maximum(variance, 0.0))
        return self.w[:, own], self.estimate.values[own], reach


def contributions_of(model: Model) -> Iterator[Contribution]:
    """Yield the contribution of each column, in their order, after a date's those of its parts,
    such as ``joined.weekday``, and of the crosses.

    Raises InvalidInputError for a model of unnamed features. Nothing is private here: coefficients
    and covariances were released, and cells are those of the public schema.
    """
    schema = model.schema
    if schema.width is not None:
        raise InvalidInputError("A picture of contributions is of a model with named columns.")
    parameters, at = _Parameters.of(model), 0
    for column in schema.features:
        yield from _of_column(column, parameters, at)
        at += len(column.feature_names)
    for cross in schema.encoded.crossed:
        name = "*".join(column.name for column in cross.columns)
        yield _of_levels(name, cross.feature_names, parameters, at)
        at += len(cross.feature_names)


def _of_levels(
    column: str, names: tuple[str, ...], parameters: _Parameters, at: int
) -> Contribution:
    levels = tuple(name.removeprefix(f"{column}=") for name in names)
    return Contribution(column, levels, *parameters.of_each(at, len(names)))


def _of_column(column: FeatureColumn, parameters: _Parameters, at: int) -> Iterator[Contribution]:
    """Yield what a column adds: as a number or by level, and as a date by each part of it too."""
    encoding = column.encoding
    if encoding.bounds is None or isinstance(encoding.chains[0][-1], transforms.OneHot):
        yield _of_levels(column.name, column.feature_names, parameters, at)
        return
    cells = np.linspace(*encoding.bounds, _POINTS)
    levels: tuple[str, ...] = ()
    if isinstance(encoding.reading, transforms.Lookup):
        levels = tuple(map(str, encoding.levels))
    elif isinstance(encoding.reading, transforms.Truth):
        levels = ("false", "true")
    if levels:
        cells = np.arange(len(levels), dtype=np.float64)
    width = len(column.feature_names)
    # Of parts that are levels, which have pictures of their own, nothing is added here.
    features, by_part = np.zeros((len(cells), width)), []
    is_empty = encoding.fill is not None or encoding.indicator
    empty, place = np.zeros((1, width)), 0
    both = features_of(encoding, cells), features_of(encoding, np.array([np.nan]))
    for part, found, blank in zip(encoding.parts, *both, strict=True):
        own = slice(place, place + part.width)
        if part.is_code:
            names = column.feature_names[own]
            by_part.append(_of_levels(names[0].partition("=")[0], names, parameters, at + place))
            empty[:, own] = np.arange(part.width) == blank
        else:
            features[:, own] = found.reshape(len(cells), -1)
            empty[:, own] = blank.reshape(1, -1)
        place += part.width
    yield Contribution(
        column.name,
        levels or cells,
        *parameters.at(at, features),
        empty=parameters.at(at, empty)[0][:, 0] if is_empty else None,
        is_date=isinstance(encoding.reading, transforms.Day),
    )
    yield from by_part
