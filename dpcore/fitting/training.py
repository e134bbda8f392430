"""The outcome of one fit, and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.schema.features.scaling import describe_scaling
from dpcore.fitting.warnings import cautions_of
from dpcore.privacy.statement import WHERE_GIVEN

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["Training"]

_WHERE_GIVEN = ("rho", "mu", *WHERE_GIVEN)


@dataclass(frozen=True, slots=True)
class Training:
    """The outcome of a run.

    Parameters
    ----------
    facts : public facts for the report: algo, data, n_features, and under replace-one only n_train,
        the number of rows, or units_train.
    seconds : of the whole run; printed, in no file; ``None`` where they would tell too much.
    diagnostics : figures computed without privacy; empty unless a test was asked for.
    generated : ``accuracy_figures`` of the rows trained on, where those are generated, no secret.
    rows_dropped : whether those that do not satisfy the schema were left out.
    was_warned : whether it was said beforehand that the model would be no better than a constant.
    at_hand : whether this process has the rows, so that a test can hold some out.
    """

    model: Model
    facts: Mapping[str, Any]
    seconds: float | None
    diagnostics: Mapping[str, Any]
    generated: Mapping[str, Any] | None = None
    rows_dropped: bool = False
    was_warned: bool = False
    at_hand: bool = True

    def cautions(self) -> list[str]:
        """Return what to be careful of, and was not said beforehand."""
        return cautions_of(self.model, was_warned=self.was_warned)

    def report(self) -> dict[str, Any]:
        """Return what ``dpcore train --json`` prints."""
        model, privacy = self.model, self.model.privacy
        pair = ("epsilon", "delta", "ex_post_epsilon")
        statement = (*pair, "neighboring_relation", "accountant", "conversion")
        counted = ("budget", "spent", "unit", "releases")
        bounds = {name: list(pair) for name, pair in model.released_bounds.items()}
        report = {
            **self.facts,
            "scaling": describe_scaling(model.schema),
            "loss": model.loss,
            "loss_parameters": dict(model.loss_parameters),
            "multiclass": model.multiclass,
            **({} if model.weight_bound is None else {"weight_bound": model.weight_bound}),
            **({"class_weights": dict(model.class_weights)} if model.class_weights else {}),
            "l2": model.l2,
            **{key: privacy[key] for key in (*statement, *counted)},
            "status": model.status,
            "details": dict(model.details),
            "private": privacy["private"],
            "why_not_private": privacy["why_not_private"],
            "sentence": privacy["sentence"],
            **{key: privacy[key] for key in _WHERE_GIVEN if key in privacy},
            **({"released_bounds": bounds} if bounds else {}),
            **({"private_evaluation": dict(model.evaluation)} if model.evaluation else {}),
            **({"intervals": dict(model.intervals)} if model.intervals else {}),
            **({"sections": dict(model.sections)} if model.sections else {}),
            "parts_not_from_dpcore": privacy["parts_not_from_dpcore"],
            **({} if self.seconds is None else {"seconds": round(self.seconds, 3)}),
            "coef_norm": float(np.linalg.norm(model.coef)),
        }
        return {**report, "diagnostics": dict(self.diagnostics)} if self.diagnostics else report
