"""The facts of a fitted model that follow from its parameters and its schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.schema.schema import INTERCEPT
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

__all__ = ["LearntFacts"]


class LearntFacts:
    """Released coefficients and public names. Those that end in ``_`` are scikit-learn's, in its
    shapes."""

    __slots__ = ()
    w: np.ndarray
    schema: Schema
    loss: str
    multiclass: str | None
    privacy: Mapping[str, Any]
    class_values: tuple[Any, ...] | None

    @property
    def coef(self) -> np.ndarray:
        """Coefficients without the intercept, float64, of three classes and more a row for each: of
        unnamed features as given, of a schema's columns as encoded."""
        w = self.w[..., :-1] if self.schema.intercept else self.w
        return w * self.schema.feature_scale

    @property
    def intercept(self) -> float | np.ndarray:
        """The intercept, of three classes and more one for each."""
        last = self.w[..., -1] if self.schema.intercept else np.zeros(self.w.shape[:-1])
        return float(last) if last.ndim == 0 else last.copy()

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.feature_names if name != INTERCEPT)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes in the schema's order, of two the negative first; ``None`` for a real-valued
        target."""
        return self.class_values or self.schema.label.names or None

    @property
    def coef_(self) -> np.ndarray:
        """``coef`` of shape (1, n) for two classes, (n_classes, n) for more; of shape (n,) for a
        regression, where it is in the target's own unit."""
        half = self.schema.label.scale[1]
        return half * self.coef if self.schema.label.is_real else np.atleast_2d(self.coef)

    @property
    def intercept_(self) -> float | np.ndarray:
        """``intercept`` of shape (1,) for two classes, (n_classes,) for more; a number in the
        target's own unit for a regression."""
        middle, half = self.schema.label.scale
        is_real = self.schema.label.is_real
        return middle + half * self.intercept if is_real else np.atleast_1d(self.intercept)

    @property
    def classes_(self) -> np.ndarray:
        """The classes in order; AttributeError for a regression."""
        if self.classes is None:
            raise AttributeError("A regression has no classes_.")
        alike = len({type(value) for value in self.classes}) == 1
        return np.array(self.classes, dtype=None if alike else object)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that a row has, before they are encoded."""
        return self.schema.width or len(self.schema.features)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of these columns; AttributeError where they have none."""
        if self.schema.width is not None:
            raise AttributeError("The columns of this model have no names.")
        return np.array([column.name for column in self.schema.features], dtype=object)

    @property
    def released_bounds(self) -> dict[str, tuple[float, float]]:
        """Bounds of the columns whose bounds the fit released, one of each pair or both."""
        names = self.privacy.get("private_bounds", {"columns": ()})["columns"]
        columns: dict[str, Any] = {column.name: column for column in self.schema.columns}
        return {name: (columns[name].lower, columns[name].upper) for name in names}

    @property
    def has_log_odds(self) -> bool:
        """Whether a row has one margin, the logarithm of the odds of the positive class."""
        return self.loss == "logistic" and self.w.ndim == 1

    @property
    def has_probabilities(self) -> bool:
        """Whether probabilities of the classes follow from margins."""
        of_classes = "softmax" if self.multiclass is None else "logistic"
        return self.has_log_odds or (self.w.ndim > 1 and self.loss == of_classes)

    def require_probabilities(self) -> None:
        """Raise InvalidInputError for a model without probabilities."""
        if self.has_probabilities:
            return
        if self.schema.label.is_real:
            raise InvalidInputError("The model predicts a number, which has no probabilities.")
        raise InvalidInputError(
            f"The margins of the loss {self.loss} are no log odds: only a logistic model has "
            "probabilities, of more classes than two a softmax one, or one-vs-rest a logistic one."
        )

    def least_log_odds(self, threshold: float) -> float:
        """Return the log odds of a probability of the positive class, 0 of a half.

        Raises InvalidInputError for what is no probability between 0 and 1, and for a model that
        has not two classes and log odds.
        """
        if self.schema.label.n_classes > 2:
            raise InvalidInputError(
                "A threshold is for two classes: of more, the label is the likeliest."
            )
        self.require_probabilities()
        if not 0 < threshold < 1:
            raise InvalidInputError(f"Expected 0 < threshold={threshold!r} < 1.")
        return math.log(threshold / (1 - threshold))

    @property
    def row_norm(self) -> float:
        """The public l2 norm that rows are scaled down to, unnamed features as given."""
        norm = min(self.schema.row_norm, self.schema.raw_norm_bound)
        return norm / self.schema.feature_scale
