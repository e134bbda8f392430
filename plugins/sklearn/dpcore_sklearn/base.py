"""The base of the estimators: parameters, one fit through ``dpcore.fit``, and what was learnt."""

from __future__ import annotations

import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dpcore import Ledger, Schema, Weights, fit
from dpcore.errors import InvalidInputError, advised_on_bad_rows
from dpcore.plugin.commands import LedgerRequest
from dpcore_sklearn.own_part import OwnPart
from dpcore_sklearn.public import described_schema, with_label_ascending
from dpcore_sklearn.rows import (
    called_of,
    given_labels,
    given_rows,
    names_of,
    require_ids,
    sample_weight_of,
    without_ids,
)
from dpcore_sklearn.steps import loss_of_each, steps_of
from dpcore_tables.memory.frames import is_frame

if TYPE_CHECKING:
    from typing import Self

    from dpcore.plugin.parts import Model

__all__ = ["WITHOUT_SCORE", "PrivateEstimator"]

_ITS_WORDS = (
    "Of this estimator, classes=(...) are the labels, 0 and 1 unless you name them, "
    "categories={...} the values of text columns, and bounds those of numbers; what becomes of "
    "empty cells, dates and words for no value is said by schema=, in place of these."
)
WITHOUT_SCORE = (
    "An estimator refuses such rows, as scikit-learn's own do; its model_ leaves them without a "
    "score, as in clf.model_.predict(X)."
)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(OwnPart, ABC):
    """A private linear model with scikit-learn's interface.

    Parameters
    ----------
    epsilon, delta : the budget of one fit.
    algo : an optimizer's name, or ``"auto"``, which takes one by budget, loss and accountant.
    bounds : public (lower, upper) of the columns, each a number or one per column without
        categories, or a mapping of names to such pairs. Cells are clamped to them and mapped to
        [0, 1]. They come from a codebook or common sense, never from the rows.
    private_bounds : whether bounds of columns that have neither bounds nor categories, or of those
        of the schema, are released from the rows, for a tenth of the budget.
    categories : public categories of a frame's columns, as ``{"city": ["Bern", "Basel"]}``.
    schema : in place of bounds, categories, classes or target_bounds and n_public: a Schema, its
        keys as a mapping, the path of its TOML file or the name of a shipped one.
    l2 : weight of the regulariser; ``None`` for what the algorithm takes by default.
    relation : which tables are neighbours; ``None`` for add-or-remove-one, or the first that the
        algorithm declares.
    n_public : a public value for the number of rows. Never ``len(X)``, which is private.
    unit, rows_per_unit : a frame's column that says whose a row is, and how many rows of one value
        are used at most: the guarantee is for all rows of one value. They are the schema's keys
        too. The column is no feature: ``n_features_in_`` and ``feature_names_in_`` are without it,
        and rows to predict may come without it.
    accountant : ``None`` for what the algorithm names.
    weight_bound : a public number that ``sample_weight`` is held to; without one it is refused.
    test_fraction, evaluate_share, evaluate_epsilon : the share of the rows held out by coins for a
        private evaluation, and the share of the budget that it takes, or the epsilon, within the
        fit's, that it has by itself: ``model_.evaluation``.
    intervals_share : the share of the budget for intervals (``summary``, ``predict_interval``).
    schema_from_data : says that bounds, categories or a step before this one were taken from the
        rows, and marks the model as not private.
    random_state : a seed, or a generator that draws one, as elsewhere in scikit-learn; it marks the
        model as not private.
    ledger, analyst : the file of ``dpcore ledger init`` that every fit is charged to beforehand,
        and who runs it; ``None`` for the schema's, or that of ``DPCORE_LEDGER``, if there is one.

    Attributes
    ----------
    model_ : the ``Model``, whose ``privacy["sentence"]`` is the guarantee of this fit alone (see
        ``check_pipeline`` for the steps before it); ``model_.save(path)``.
    """

    epsilon: float | None = 1.0
    delta: float = 1e-8
    algo: str = "auto"
    bounds: Sequence[Any] | Mapping[str, Any] | None = None
    private_bounds: bool = False
    categories: Mapping[str, Sequence[Any]] | None = None
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None
    loss: str = "logistic"
    l2: float | None = None
    relation: str | None = None
    n_public: int | None = None
    unit: str | None = None
    rows_per_unit: int | None = None
    accountant: str | None = None
    weight_bound: float | None = None
    test_fraction: float | None = None
    evaluate_share: float | None = None
    evaluate_epsilon: float | None = None
    intervals_share: float | None = None
    schema_from_data: bool = False
    random_state: Any = None
    ledger: str | os.PathLike[str] | None = None
    analyst: str = ""

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        """Fit a new private model, at the whole budget; nothing of an earlier fit is used.

        X : an array, or a frame, the types of whose columns are the caller's public claim.

        ``sample_weight``, by name: a number >= 0 for each row, where ``weight_bound`` is set.

        Raises DataError or InvalidInputError before any budget is spent.
        """
        weights, also = sample_weight_of(metadata), self._steps()
        rows, labels, schema, own = self._described_rows(X, y)
        with advised_on_bad_rows(self._advice()):
            model = fit(
                rows,
                labels,
                schema=schema,
                algo=self.algo,
                epsilon=self.epsilon,
                delta=self.delta,
                loss=loss_of_each(self._loss_of(schema), self._multiclass()),
                l2=self.l2,
                relation=self.relation,
                accountant=self.accountant,
                seed=self._seed(),
                sample_weight=None if weights is None else Weights(weights, self.weight_bound),
                class_weight=self._public_weights(),
                also=also,
                ledger=Ledger(self.ledger, self.analyst),
            )
        self.model_: Model = model if own is None else replace(model, class_values=own)
        return self

    def _described_rows(self, X: Any, y: Any) -> tuple[Any, Any, Schema, tuple[Any, ...] | None]:
        """Return the rows and labels of a fit, their schema, and the caller's own classes."""
        self._check_parameters()
        LedgerRequest(self.ledger, self.analyst)  # What it refuses is refused before the rows.
        schema = Schema.given(self.schema, self.private_bounds)
        has_width = schema is not None and schema.width is not None
        unit = self.unit if schema is None else self.unit or schema.unit
        rows = given_rows(
            self,
            X,
            reset=True,
            named=not has_width,
            takes_sparse=has_width,
            takes_empty=schema is not None,
            unit=unit,
        )
        if not has_width:
            require_ids(rows, unit)
        labels = given_labels(y, type(self).__name__)
        own = None
        if schema is None:
            schema, own = self._described(without_ids(rows, unit), labels)
        else:
            schema = self._with_schema(schema, rows)
        schema = Schema.beside_units(schema, self.unit, self.rows_per_unit)
        assert schema is not None
        if self.schema_from_data:
            schema = replace(schema, from_data=True)
        return rows, labels, schema, own

    def _advice(self) -> str:
        return _ITS_WORDS if self.schema is None else ""

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class or value of every row."""
        rows = self._checked(X)
        with advised_on_bad_rows(WITHOUT_SCORE):
            return self.model_.predict(rows, bad_rows="refuse")

    def predict_interval(self, X: Any) -> np.ndarray:
        """Return the ends of each row's 95 % interval, float64 of shape (n_rows, 2): of the log
        odds of the second class, or of the number; of a fit with ``intervals_share``."""
        rows = self._checked(X)
        with advised_on_bad_rows(WITHOUT_SCORE):
            return self.model_.predict_interval(rows, bad_rows="refuse")

    def summary(self) -> Any:
        """Return the coefficients in their columns' units, with intervals where there are some."""
        check_is_fitted(self)
        return self.model_.summary()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy or the R2: an exact metric of these rows, which no epsilon covers."""
        rows = self._checked(X)
        labels = given_labels(y, type(self).__name__)
        return self.model_.score(rows, labels, sample_weight)

    @property
    def coef_(self) -> np.ndarray:
        """The coefficients of the columns as encoded: numbers mapped by their bounds to [0, 1], and
        a feature for each category, and of numbers that became curves for each of their hats
        (``model_.feature_names``)."""
        return self.model_.coef_

    @property
    def intercept_(self) -> float | np.ndarray:
        return self.model_.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.required = True
        return tags

    def _loss_of(self, schema: Schema) -> str:
        """Return the loss of a label; InvalidInputError for classes that it cannot have."""
        return self.loss

    def _multiclass(self) -> str | None:
        """Return how several classes are fitted, as ``Settings`` have it."""
        return None

    def _public_weights(self) -> Any:
        return None

    def _steps(self) -> list[Any]:
        return steps_of(self)

    @abstractmethod
    def _label(self, labels: Any) -> tuple[tuple[Any, ...] | None, dict[str, Any], bool]:
        """Return the classes as the caller's own objects, what a schema says of the label, and
        whether that was read off the labels."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise InvalidInputError for parameters that this estimator cannot have."""

    @abstractmethod
    def _left_to_schema(self) -> dict[str, Any]:
        """Return parameters about the label that a schema replaces, ``None`` where not given."""

    def _described(self, rows: Any, labels: Any) -> tuple[Schema, tuple[Any, ...] | None]:
        """Return the schema that the parameters describe, and the caller's own classes."""
        if self.categories is not None and not is_frame(rows):
            raise InvalidInputError(
                "Categories are of a frame's columns: pass a frame, or encode the columns of an "
                "array by PublicEncoder."
            )
        own, label, is_from_data = self._label(labels)
        names, private = names_of(rows), self.private_bounds
        schema = described_schema(
            names, self.bounds, self.categories, label, self.n_public, private, called_of(labels)
        )
        return replace(schema, from_data=is_from_data), own

    def _with_schema(self, schema: Schema, rows: Any) -> Schema:
        others = {"bounds": self.bounds, "categories": self.categories, "n_public": self.n_public}
        Schema.refuse_beside("the schema", **others, **self._left_to_schema())
        if is_frame(rows) and schema.label.name in names_of(rows):
            raise InvalidInputError(
                f"The label {schema.label.name!r} is a column of X: leave it out of X and pass it "
                "as y."
            )
        return with_label_ascending(schema)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        unit = self.model_.schema.unit
        rows = given_rows(
            self,
            X,
            reset=False,
            named=self.model_.privacy["typed_by"] == "frame",
            takes_sparse=self.model_.schema.width is not None,
            takes_empty=self.schema is not None,
            unit=unit,
        )
        return without_ids(rows, unit)

    def _seed(self) -> int | None:
        state = self.random_state
        if state is None:
            return None
        if isinstance(state, numbers.Integral):
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))
