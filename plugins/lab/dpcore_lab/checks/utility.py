"""Thresholds of utility: what an optimizer that misses them lacks is no privacy."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import optimizer_facts
from dpcore_lab.checks.coverage_text import BelowThreshold, Tested
from dpcore_lab.made_tables.tables import Rows, make_rows
from dpcore_lab.replay.recorded import L2, cases_of, loss_of, record_run

if TYPE_CHECKING:
    from dpcore.plugin import Loss
    from dpcore.plugin.parts import Optimizer

__all__ = ["UTILITY_CHECKS", "check_huge_epsilon_limit"]


def check_huge_epsilon_limit(optimizer: Optimizer) -> Tested:
    """Raise BelowThreshold unless a huge epsilon reaches 95 % of the gain of scipy's minimiser.

    An optimizer with a target of excess risk gets 3 % of that gain. This is a threshold of
    utility: an algorithm that is slow, or whose paper fixes its steps, may miss it and be as
    private as any.
    """
    from scipy.optimize import minimize

    gains = []
    for relation, n_classes in cases_of(optimizer):
        rows, loss = make_rows(2000, seed=7, n_classes=n_classes), loss_of(optimizer, n_classes)
        objective = partial(_objective, rows, loss)
        at_zero = np.zeros(rows.n_margins * rows.X.shape[1])
        best, start = minimize(objective, at_zero, method="L-BFGS-B").fun, objective(at_zero)
        asked = _asked_for(optimizer, 0.03 * (start - best))
        _, solution = record_run(asked, rows, relation, epsilon=1e5, n0=2000)
        reached = objective(solution.w)
        gain = (start - reached) / (start - best)
        if not gain >= 0.95:
            raise BelowThreshold(
                f"With epsilon=1e5 it reaches {gain:.1%} of the possible gain in the mean "
                f"{loss.name} loss + (l2 / 2) ||w||^2, l2={L2}, on 2,000 rows scaled down to norm "
                f"1.5: from {start:.6g} at 0 to {reached:.6g}, where {best:.6g} is the least."
            )
        classes = f" ({n_classes} classes)" if n_classes > 2 else ""
        gains.append(f"{gain:.1%} under {relation.value}{classes}")
    return Tested(
        f"epsilon 1e5 on 2,000 made rows: of the possible gain {' and '.join(gains)}",
        not_tested=("its accuracy at any other epsilon",),
        ranges=("rows 2,000", "columns 5", "epsilon 1e5"),
    )


def _objective(rows: Rows, loss: Loss, w: np.ndarray) -> float:
    """Return the mean loss and the regulariser, of rows scaled down to norm 1.5."""
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    X, values = rows.X * np.minimum(1.0, 1.5 / norms), np.empty(len(rows.y))
    z = w.reshape(rows.n_margins, -1) @ X.T
    loss.value(z if rows.n_margins > 1 else z[0], rows.y, values)
    return float(values.mean() + 0.5 * L2 * np.square(w).sum())


def _asked_for(optimizer: Optimizer, excess_risk: float) -> Optimizer:
    if "target_excess_risk" not in optimizer_facts(optimizer).targets:
        return optimizer
    instance: Any = optimizer
    options = dict.fromkeys(("target_accuracy", "target_risk", "slack"))
    given: dict[str, Any] = {**options, "target_excess_risk": excess_risk}
    fields = {field.name for field in dataclasses.fields(instance)} & given.keys()
    asked: Optimizer = dataclasses.replace(instance, **{name: given[name] for name in fields})
    return asked


UTILITY_CHECKS = (check_huge_epsilon_limit,)
