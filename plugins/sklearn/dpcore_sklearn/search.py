"""A search of parameters on the budget, with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dpcore.errors import InvalidInputError, advised_on_bad_rows
from dpcore.plugin import Settings
from dpcore.plugin.commands import LedgerRequest
from dpcore_sklearn.base import PrivateEstimator
from dpcore_sklearn.own_part import OwnPart
from dpcore_sklearn.rows import sample_weight_of
from dpcore_tables.weights.of_rows import require_bound
from dpcore_tuning.api import tune_rows
from dpcore_tuning.candidates import grid_of
from dpcore_tuning.search import make_search

if TYPE_CHECKING:
    from typing import Self

    from dpcore import Schema
    from dpcore_tuning.search import Search

__all__ = ["PrivateSearch"]


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _where_the_estimator_has(name: str) -> Callable[[_Method], _Method]:
    def offers(self: PrivateSearch) -> bool:
        return hasattr(type(self.estimator), name)

    decorated: Any = available_if(offers)
    return lambda method: decorated(method)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateSearch(MetaEstimatorMixin, OwnPart):
    """Private fits of several candidates, and the best of them, as one release within one budget.

    ``GridSearchCV`` has exact scores, and each of its fits costs a whole epsilon; all of this is
    within one. Neither scores nor other candidates' models are kept, nor how many fits there were.

    Parameters
    ----------
    estimator : a private estimator, which says what is public, and what is released beside the fit
        for a share of the budget (``private_bounds``, ``evaluate_share``, ``intervals_share``); its
        epsilon, delta, accountant and random_state are those of the search instead.
    candidates : names to lists of values, every combination of them is taken; or a list of
        mappings: ``l2``, or parameters of the algorithm (``dpcore info NAME``). Public: chosen
        without the rows.
    epsilon, delta : the budget of the whole search.
    search : ``"random"``: a random number of tries, and the best by a private score; ``"list"``:
        every candidate once in an equal part of the budget, and one chosen privately.
    law, tries, eta : of the number of tries: ``"geometric"``, ``"logarithmic"``,
        ``"negative-binomial"`` (with ``eta``) or ``"poisson"``, and about how many in the mean.
    scoring : ``"error"`` or ``"loss"``, clipped to [0, 1]; ``None`` for error, loss of a number.
    held_out : the share of the rows that scores are of, and no fit.
    accountant : of each fit; ``None`` for zcdp, or pure where delta is 0.
    random_state : a seed; it marks the model as not private.

    Attributes
    ----------
    best_estimator_ : the estimator with the model that was released.
    best_params_ : its candidate, released too; empty where no try came to a model.
    model_ : its model, whose ``privacy["sentence"]`` is the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_sklearn import PrivateLogisticRegression, PrivateSearch
    >>> X, y = np.array([[0.0], [1.0]] * 500), np.array([0, 1] * 500)
    >>> estimator = PrivateLogisticRegression(bounds=(0, 1), algo="dp-gd")
    >>> search = PrivateSearch(estimator=estimator, candidates={"l2": [0.01, 0.1]}, search="list")
    >>> search.fit(X, y).model_.privacy["epsilon"]  # of all candidates together
    1.0
    """

    estimator: Any = None
    candidates: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] = ()
    epsilon: float = 1.0
    delta: float = 1e-8
    search: str = "random"
    law: str = "geometric"
    tries: float = 10.0
    eta: float | None = None
    scoring: str | None = None
    held_out: float = 0.2
    accountant: str | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        """Search anew, at the whole budget.

        ``sample_weight``, by name: a number >= 0 for each row, where the estimator has a
        ``weight_bound``. Fits and scores are weighted by it.

        Raises DataError or InvalidInputError before any budget is spent.
        """
        if not isinstance(self.estimator, PrivateEstimator):
            raise InvalidInputError("Expected estimator to be one of dpcore_sklearn.")
        weights = sample_weight_of(metadata)
        best = clone(self.estimator).set_params(random_state=self.random_state)
        rows, labels, schema, own = best._described_rows(X, y)
        if weights is not None:
            require_bound(rows, weights, best.weight_bound)
        search = self._search(best, schema, None if weights is None else best.weight_bound)
        request = LedgerRequest(best.ledger, best.analyst)
        with advised_on_bad_rows(best._advice()):
            model = tune_rows(search, rows, labels, schema, request, weights)
        best.model_ = model if own is None else replace(model, class_values=own)
        self.best_estimator_ = best
        self.best_params_ = dict(model.privacy["search"]["chosen"] or {})
        return self

    def _search(self, estimator: PrivateEstimator, schema: Schema, bound: Any) -> Search:
        settings = Settings(
            algo=estimator.algo,
            loss=estimator._loss_of(schema),
            l2=estimator.l2,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=estimator.relation,
            accountant=self.accountant,
            units=schema.unit is not None,
            seed=estimator._seed(),
            multiclass=estimator._multiclass(),
            class_weight=estimator._public_weights(),
            weight_bound=bound,
            also=tuple(estimator._steps()),
        )
        given: Any = self.candidates
        return make_search(
            settings,
            grid_of(given) if isinstance(given, Mapping) else list(given),
            kind=self.search,
            law=self.law,
            tries=self.tries,
            eta=self.eta,
            measure=self.scoring,
            held_out=self.held_out,
        )

    @property
    def model_(self) -> Any:
        return self._best().model_

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class or value of every row."""
        predicted: np.ndarray = self._best().predict(X)
        return predicted

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy or the R2: an exact metric of these rows, which no epsilon covers."""
        return float(self._best().score(X, y))

    @_where_the_estimator_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margins of every row."""
        margins: np.ndarray = self._best().decision_function(X)
        return margins

    @_where_the_estimator_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes of every row."""
        shares: np.ndarray = self._best().predict_proba(X)
        return shares

    @property
    def classes_(self) -> np.ndarray:
        classes: np.ndarray = self._best().classes_
        return classes

    @property
    def n_features_in_(self) -> int:
        return int(self._best().n_features_in_)

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.target_tags, tags.input_tags = own.target_tags, own.input_tags
        return tags
