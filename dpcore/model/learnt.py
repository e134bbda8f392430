"""The facts of a fitted model: those it is made of, and those that follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.table import Table
from dpcore.data.schema.schema import INTERCEPT, Schema
from dpcore.errors import InvalidInputError
from dpcore.model.probabilities import blank_rows, probabilities_of

if TYPE_CHECKING:
    from dpcore.data.blocks.layouts import Rows

__all__ = ["LearntFacts"]


@dataclass(frozen=True, eq=False, slots=True)
class LearntFacts:
    """Released coefficients and public names. Those that end in ``_`` are scikit-learn's, in its
    shapes.

    Parameters
    ----------
    w : float64 array of shape (n_features,), or (n_classes, n_features) of three classes and more,
        in C order; the intercept last if the schema has one.
    schema : the public encoding of rows and labels, built for the model: it read no row of the fit.
    loss, loss_parameters : its registered name, and the parameters of its own, public facts.
    algo : name, distribution, parameters and slots of the algorithm.
    privacy : the privacy statement (``dpcore.privacy.statement``) as data.
    ledger : one summary for each kind of release and mechanism.
    status, details : how the run ended, and the algorithm's metrics.
    class_values : the classes as the caller's own objects, in the schema's order; ``None`` for its
        text or numbers.
    log_link : whether predictions are means, the exponentials of margins.
    multiclass : ``"ovr"`` where each class has a fit of its own against the rest; ``None`` for one
        fit of all.
    class_weights : the weight that the fit gave to each class, by its name in the schema, public
        or released; empty where it gave none.
    weight_bound : the public bound of rows' own weights; ``None`` where rows had none.
    evaluation : metrics of rows held out, released with the model; ``None`` where there are none.
    intervals : a one-step ``estimate`` of the coefficients and its ``covariance``, as lists, from
        released sums; or ``why_not``; ``None`` where none were asked for.
    sections : of steps of somebody's own, by name: ``data``, and ``lines`` of text about it.
    report : what ``dpcore train --json`` prints; in no file and no pickle, since it may hold
        metrics that were computed without privacy.
    """

    w: np.ndarray
    schema: Schema
    loss: str
    l2: float
    algo: Mapping[str, Any]
    privacy: Mapping[str, Any]
    ledger: tuple[Mapping[str, Any], ...]
    status: str
    details: Mapping[str, Any]
    versions: Mapping[str, str]
    class_values: tuple[Any, ...] | None = None
    loss_parameters: Mapping[str, Any] = field(default_factory=dict)
    log_link: bool = False
    multiclass: str | None = None
    class_weights: Mapping[str, float] = field(default_factory=dict)
    weight_bound: float | None = None
    evaluation: Mapping[str, Any] | None = None
    intervals: Mapping[str, Any] | None = None
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def coef(self) -> np.ndarray:
        """Coefficients without the intercept, float64, of three classes and more a row for each: of
        unnamed features as given, of a schema's columns as encoded."""
        return (self.w[..., :-1] if self.schema.intercept else self.w) * self.schema.feature_scale

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
        """``coef`` as scikit-learn has it: of shape (1, n) for two classes, (n_classes, n) for
        more, (n,) for a regression. There it is in the target's own unit, or of the mean's
        logarithm."""
        half = 1.0 if self.log_link else self.schema.label.scale[1]
        return half * self.coef if self.schema.label.is_real else np.atleast_2d(self.coef)

    @property
    def intercept_(self) -> float | np.ndarray:
        """``intercept`` as scikit-learn has it: of shape (1,) for two classes, (n_classes,) for
        more. For a regression it is a number in the target's own unit, or the logarithm of a
        mean."""
        middle, half = self.schema.label.scale
        middle, half = (math.log(half), 1.0) if self.log_link else (middle, half)
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
        return min(self.schema.row_norm, self.schema.raw_norm_bound) / self.schema.feature_scale

    def margins(self, encoded: Rows) -> np.ndarray:
        """Return the margins of encoded rows, the intercept's column included: of shape (n_rows,),
        or (n_classes, n_rows) of three classes and more."""
        if encoded.shape[0] == 0:
            return np.zeros((*self.w.shape[:-1], 0))
        table = Table.from_matrix(
            encoded,
            np.zeros(encoded.shape[0]),
            row_norm=min(self.schema.row_norm, self.schema.raw_norm_bound),
            raw_norm_bound=self.schema.raw_norm_bound,
        )
        return np.concatenate([block.margins(self.w) for block in table.blocks], axis=-1)

    def probabilities(self, margins: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes by the margins of rows, as ``predict_proba``."""
        return probabilities_of(margins, one_vs_rest=self.multiclass is not None)

    def labels(self, margins: np.ndarray, least: float = 0.0) -> np.ndarray:
        """Return the predicted class of each row, or its value in the target's own unit.

        Of two classes it is the positive one above ``least``, of several the first of the largest
        margin, and None where margins are NaN. A value is held to the target's public bounds."""
        if self.classes is None:
            return self.schema.label.number_of(margins, self.log_link)
        blank = blank_rows(margins)
        labels: np.ndarray = self.classes_[self.schema.label.places_said(margins, least)]
        if blank.any():
            labels = labels.astype(object)
            labels[blank] = None
        return labels
