"""The estimate and covariance that a model file has, and intervals from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["NORMAL_975", "Estimate", "estimate_of", "required_estimate"]

NORMAL_975 = 1.959964
"""The quantile of .975 of the normal distribution."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters at the minimum over the population, as far as noise and sampling let them be
    known.

    Parameters
    ----------
    values : float64 of shape (n_features,), the intercept last. ``covariance`` : of the values.
    """

    values: np.ndarray
    covariance: np.ndarray

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the parameters' 95 % intervals."""
        reach = NORMAL_975 * np.sqrt(np.diag(self.covariance))
        return self.values - reach, self.values + reach

    def margins(self, model: Model, rows: Any) -> np.ndarray:
        """Return the ends of the 95 % intervals of encoded rows' margins, of shape (2, n_rows).

        The variance of x.w is x^T C x: by a root of C, a sum of squared margins.
        """
        values, vectors = np.linalg.eigh(self.covariance)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))
        squares = np.zeros(rows.shape[0])
        for column in roots.T:
            squares += replace(model, w=np.ascontiguousarray(column)).margins(rows) ** 2
        middle = replace(model, w=self.values).margins(rows)
        reach = NORMAL_975 * np.sqrt(squares)
        return np.stack([middle - reach, middle + reach])


def estimate_of(intervals: Mapping[str, Any] | None) -> Estimate | None:
    """Return the estimate of a model's ``intervals``; ``None`` where it has none."""
    if intervals is None or "why_not" in intervals:
        return None
    return Estimate(np.array(intervals["estimate"]), np.array(intervals["covariance"]))


def required_estimate(intervals: Mapping[str, Any] | None) -> Estimate:
    """Return the estimate of a model's ``intervals``; InvalidInputError where it has none."""
    estimate = estimate_of(intervals)
    if estimate is not None:
        return estimate
    if intervals is None:
        raise InvalidInputError(
            "The model has no intervals: none were asked for by --intervals-share "
            "(intervals_share=)."
        )
    raise InvalidInputError(f"The model has no intervals: {intervals['why_not']}.")
