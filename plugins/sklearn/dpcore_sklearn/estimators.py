"""Private logistic regression, linear SVM and ridge regression with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from dpcore.errors import InvalidInputError, advised_on_bad_rows
from dpcore.plugin import Settings
from dpcore_sklearn.base import WITHOUT_SCORE, PrivateEstimator
from dpcore_sklearn.inherited_docs import with_inherited_parameters
from dpcore_sklearn.public import classes_label, target_label
from dpcore_sklearn.rows import classes_in
from dpcore_sklearn.steps import balanced_of, is_balanced

if TYPE_CHECKING:
    from dpcore import Schema

__all__ = ["PrivateLinearSVC", "PrivateLogisticRegression", "PrivateRidge"]

_TWO_ONLY = (
    "Only binary classification is supported: a hinge tells two classes apart. multiclass='ovr' "
    "makes a fit for each of several, within one budget; PrivateLogisticRegression takes all of "
    "them in one."
)
FROM_LABELS = "from-labels"
_USUAL = (0, 1)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """A private linear model of classes.

    Parameters
    ----------
    classes : the public labels, in any order; ``"from-labels"`` reads them off the rows, which
        marks the model as not private.
    multiclass : ``"ovr"`` for a fit of each of three classes and more against the rest, all within
        the one budget; ``None`` for one fit of all, by a loss that takes several.
    class_weight : public weights by class, 1 for those not named; ``"balanced"``, from counts of
        the classes that are released for a twentieth of the budget; or ``None``.
    largest_weight : the most that a balanced one may come to.
    """

    classes: Sequence[Any] | str = _USUAL
    multiclass: str | None = None
    class_weight: Mapping[Any, float] | str | None = None
    largest_weight: float = 10.0
    score = PrivateEstimator.score  # not the mixin's, which knows no class of several values

    @property
    def classes_(self) -> np.ndarray:
        """The classes in ascending order; of two the second is that of positive decisions."""
        return self.model_.classes_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of every row; above 0: the second class. Of three classes and more
        those of each class, of shape (n_rows, n_classes)."""
        rows = self._checked(X)
        with advised_on_bad_rows(WITHOUT_SCORE):
            return self.model_.decision_function(rows, bad_rows="refuse")

    def _label(self, labels: Any) -> tuple[tuple[Any, ...] | None, dict[str, Any], bool]:
        is_read_off = isinstance(self.classes, str) and self.classes == FROM_LABELS
        values, label = classes_label(classes_in(labels) if is_read_off else self.classes)
        return tuple(values), label, is_read_off

    def _public_weights(self) -> Any:
        return None if is_balanced(self.class_weight) else self.class_weight

    def _steps(self) -> list[Any]:
        return [*balanced_of(self.class_weight, self.largest_weight), *super()._steps()]

    def _multiclass(self) -> str | None:
        return self.multiclass

    def _left_to_schema(self) -> dict[str, Any]:
        usual = not isinstance(self.classes, str) and tuple(self.classes) == _USUAL
        return {"classes": None if usual else self.classes}


@with_inherited_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(PrivateClassifier):
    """Logistic regression under differential privacy, of two classes or more.

    In a plain ``Pipeline`` the steps before this one cannot be looked into: a step that learns from
    the rows, such as a StandardScaler, voids the guarantee, and the statement does not say so.
    ``dpcore_sklearn.make_pipeline`` refuses such steps.

    Of three classes and more it is multinomial, by the loss ``softmax``: one fit and one clip for
    all of them, or ``multiclass="ovr"``.

    ``score``, ``cross_val_score``, the scores of ``GridSearchCV`` and so its ``best_params_`` are
    exact metrics of the rows, outside every epsilon. Each fit costs its whole epsilon again, folds
    and searches included.

    Parameters
    ----------
    loss : ``"logistic"``, and no other.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_sklearn import PrivateLogisticRegression
    >>> X = np.array([[25.0, 3e4], [60.0, 9e4]] * 500)
    >>> y = np.array(["no", "yes"] * 500)
    >>> clf = PrivateLogisticRegression(
    ...     epsilon=1.0, classes=("no", "yes"), bounds=([17, 0], [90, 2e5])
    ... ).fit(X, y)
    >>> clf.model_.privacy["private"]
    True
    >>> clf.predict_proba(X).shape
    (1000, 2)
    """

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of ``classes_`` for every row, of shape (n_rows, n_classes)."""
        margins = self.decision_function(X).T
        return self.model_.probabilities(margins)

    def _loss_of(self, schema: Schema) -> str:
        is_one_fit = self.multiclass is None and not schema.label.is_real
        return Settings.usual_loss(schema) if is_one_fit else self.loss

    def _check_parameters(self) -> None:
        if self.loss != "logistic":
            raise InvalidInputError(
                f"PrivateLogisticRegression is of the logistic loss; PrivateLinearSVC takes "
                f"loss={self.loss!r}, if that is one for classes."
            )


@with_inherited_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearSVC(PrivateClassifier):
    """A linear support vector machine under differential privacy; it has no probabilities.

    In a plain ``Pipeline`` the steps before this one cannot be looked into: a step that learns from
    the rows, such as a StandardScaler, voids the guarantee, and the statement does not say so.
    ``dpcore_sklearn.make_pipeline`` refuses such steps.

    ``score``, ``cross_val_score``, the scores of ``GridSearchCV`` and so its ``best_params_`` are
    exact metrics of the rows, outside every epsilon. Each fit costs its whole epsilon again, folds
    and searches included.

    Parameters
    ----------
    loss : ``"huber-svm"``, a smoothed hinge, or ``"hinge-svm"``; both are of two classes, and take
        more with ``multiclass="ovr"``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_sklearn import PrivateLinearSVC
    >>> X, y = np.array([[0.0], [1.0]] * 500), np.array([0, 1] * 500)
    >>> clf = PrivateLinearSVC(epsilon=1.0, bounds=(0, 1)).fit(X, y)
    >>> clf.decision_function(X).shape, clf.model_.privacy["private"]
    ((1000,), True)
    """

    loss: str = "huber-svm"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.multiclass is not None
        return tags

    def _loss_of(self, schema: Schema) -> str:
        if schema.label.n_classes > 2 and self.multiclass is None:
            raise InvalidInputError(_TWO_ONLY)
        return self.loss

    def _check_parameters(self) -> None:
        if self.loss == "logistic":
            raise InvalidInputError("For the logistic loss take PrivateLogisticRegression.")


@with_inherited_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRidge(RegressorMixin, PrivateEstimator):
    """Linear regression with an l2 term under differential privacy.

    In a plain ``Pipeline`` the steps before this one cannot be looked into: a step that learns from
    the rows, such as a StandardScaler, voids the guarantee, and the statement does not say so.
    ``dpcore_sklearn.make_pipeline`` refuses such steps.

    ``score``, ``cross_val_score``, the scores of ``GridSearchCV`` and so its ``best_params_`` are
    exact metrics of the rows, outside every epsilon. Each fit costs its whole epsilon again, folds
    and searches included.

    Parameters
    ----------
    target_bounds : public (lower, upper) that the target is clamped to; predictions are in its own
        unit.
    loss : ``"ridge"`` or ``"quantile"``; of counts and amounts ``"poisson"``,
        ``"negative-binomial"`` or ``"gamma"``, whose ``coef_`` is of the mean's logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_sklearn import PrivateRidge
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> ridge = PrivateRidge(epsilon=1.0, bounds=(0, 1), target_bounds=(0, 5)).fit(X, 3 * X[:, 0])
    >>> ridge.predict([[0.5]]).shape, ridge.model_.privacy["epsilon"]
    ((1,), 1.0)
    """

    target_bounds: Sequence[float] | None = None
    loss: str = "ridge"
    score = PrivateEstimator.score

    def _label(self, labels: Any) -> tuple[tuple[Any, ...] | None, dict[str, Any], bool]:
        return None, target_label(self.target_bounds), False

    def _check_parameters(self) -> None:
        pass

    def _left_to_schema(self) -> dict[str, Any]:
        return {"target_bounds": self.target_bounds}
