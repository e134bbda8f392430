"""Pipelines whose steps before the estimator learn nothing from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.pipeline import make_pipeline as plain_pipeline

from dpcore.errors import InvalidInputError
from dpcore_sklearn.base import PrivateEstimator
from dpcore_sklearn.transformers import PublicEncoder, PublicScaler

if TYPE_CHECKING:
    from typing import Self

__all__ = ["PipelineCheck", "PublicPipeline", "check_pipeline", "make_pipeline"]

_PUBLIC = (PublicEncoder, PublicScaler)
"""Steps that treat each cell by itself. A subclass may be another thing, so types are compared."""


class PublicPipeline(Pipeline):
    """A pipeline that looks at its steps again before each fit: a search may have replaced one."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the private estimator; InvalidInputError for a step that may learn from the rows."""
        _check([step for _, step in self.steps])
        super().fit(X, y, **params)
        return self


def make_pipeline(*steps: Any, schema_from_data: bool = False) -> PublicPipeline:
    """Return a ``Pipeline`` of the steps, a private estimator the last.

    A plain ``Pipeline`` cannot be looked into: what its steps learn from the rows goes past every
    epsilon, and the statement does not say so. Here each step is PublicScaler, PublicEncoder,
    ``"passthrough"``, or a ColumnTransformer, FeatureUnion or Pipeline of such.

    schema_from_data : takes any steps (StandardScaler, OneHotEncoder, an imputer, a selection of
        features), and marks the model as not private.

    Raises InvalidInputError for another step, and for a last step that is no private estimator.

    Examples
    --------
    >>> from dpcore_sklearn import PrivateRidge, PublicScaler, make_pipeline
    >>> ridge = PrivateRidge(bounds=(0, 1), target_bounds=(0, 500))
    >>> pipe = make_pipeline(PublicScaler(bounds=(0, 100)), ridge)
    >>> from sklearn.preprocessing import StandardScaler
    >>> make_pipeline(StandardScaler(), ridge)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpcore.errors.InvalidInputError: StandardScaler may learn from the rows...
    """
    if schema_from_data and steps and isinstance(steps[-1], PrivateEstimator):
        steps = (*steps[:-1], clone(steps[-1]).set_params(schema_from_data=True))
    _check([*steps])
    return PublicPipeline(plain_pipeline(*steps).steps)


@dataclass(frozen=True)
class PipelineCheck:
    """The guarantee of a whole pipeline: that of its private estimator, if no step before it may
    have learnt from the rows.

    Parameters
    ----------
    private : whether the guarantee holds for all that was fitted.
    learning_steps : names of parts before the estimator that may learn from the rows.
    sentence : the guarantee, or why there is none; ``repr`` shows it.
    """

    private: bool
    learning_steps: tuple[str, ...]
    sentence: str

    def __repr__(self) -> str:
        return self.sentence


def check_pipeline(pipeline: Any) -> PipelineCheck:
    """Return the guarantee of a fitted pipeline as a whole.

    The statement of a private estimator is about its own fit. The steps before it in a plain
    ``Pipeline`` are fitted to the same rows: here they are looked at, none is run.

    Raises InvalidInputError for what is no pipeline with a fitted private estimator as its last
    step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dpcore_sklearn import PrivateRidge, check_pipeline
    >>> ridge = PrivateRidge(bounds=(-1, 1), target_bounds=(0, 10), epsilon=10)
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> pipe = make_pipeline(StandardScaler(), ridge).fit(X, X[:, 0] + 5)
    >>> check_pipeline(pipe)
    Not private: StandardScaler may have learnt from the rows, which no epsilon covers.
    """
    steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else []
    model = getattr(steps[-1], "model_", None) if steps else None
    if model is None or not isinstance(steps[-1], PrivateEstimator):
        raise InvalidInputError(
            "Expected a fitted Pipeline whose last step is a private estimator of dpcore."
        )
    faults = tuple(dict.fromkeys(fault for step in steps[:-1] for fault in _faults(step)))
    if faults:
        named = ", ".join(faults)
        told = f"Not private: {named} may have learnt from the rows, which no epsilon covers."
        return PipelineCheck(False, faults, told)
    return PipelineCheck(bool(model.privacy["private"]), (), str(model.privacy["sentence"]))


def _check(steps: list[Any]) -> None:
    """Raise InvalidInputError for steps that are not known to learn nothing, unless the last step
    has ``schema_from_data``."""
    if not steps or not isinstance(steps[-1], PrivateEstimator):
        raise InvalidInputError("Expected the last step to be a private estimator of dpcore.")
    *before, last = steps
    for fault in (fault for step in before for fault in _faults(step)):
        if not last.schema_from_data:
            raise InvalidInputError(
                f"{fault} may learn from the rows, which no epsilon covers: use PublicScaler or "
                "PublicEncoder, or make_pipeline(..., schema_from_data=True), which marks the "
                "model as not private."
            )


def _faults(step: Any) -> Iterator[str]:
    """Yield the name of each part of a step that is not known to learn nothing."""
    if step is None or isinstance(step, str) or type(step) in _PUBLIC:
        return
    if type(step) in (Pipeline, PublicPipeline):
        parts = [part for _, part in step.steps]
    elif type(step) is FeatureUnion:
        parts = [part for _, part in step.transformer_list]
    elif type(step) is ColumnTransformer:
        parts = [part for _, part, _ in step.transformers] + [step.remainder]
        chosen = [columns for _, _, columns in step.transformers if callable(columns)]
        if any(type(choice) is not make_column_selector for choice in chosen):
            yield "A function that chooses columns"
    else:
        yield type(step).__name__
        return
    for part in parts:
        yield from _faults(part)
