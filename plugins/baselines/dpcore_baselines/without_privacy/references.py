"""The references of a comparison, computed without privacy: the best and the worst."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import Table

if TYPE_CHECKING:
    from dpcore.plugin import Loss

__all__ = ["fit_nonprivate", "majority_label", "objective_of"]

_STEPS = 2000
_OPTIONS = {"maxiter": _STEPS, "maxfun": 4 * _STEPS, "ftol": 1e-9, "gtol": 1e-6}
# Margins are of w rounded to 2^-24: where steps gain less than ftol, that rounding has to be less.


def fit_nonprivate(
    table: Table, loss: Loss, l2: float, shape: tuple[int, ...] | None = None
) -> tuple[np.ndarray, str]:
    """Return w that minimises ``objective_of``, exact rows and no noise, and how the solver ended.
    ``shape`` : of w, (n_features,) unless it has a row for each class.

    By SciPy's L-BFGS-B from zero, to within about 1e-6 of the least objective for logistic
    regression on adult. For a loss with a kink, such as the hinge, it ends near a minimiser.
    """
    from scipy.optimize import minimize

    n_rows, shape = max(1, table.n_rows), shape or (table.n_features,)

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(shape)
        total, gradient = 0.0, np.zeros(shape)
        for block in table.blocks:
            z, out = np.ascontiguousarray(block.margins(w)), np.empty(block.n_rows)
            loss.value(z, block.y, out)
            total += float(out.sum())
            slopes = np.empty(z.shape)
            loss.dvalue(z, block.y, slopes)
            gradient += block.weighted_sum(slopes * block.factor)
        mean = gradient.reshape(-1) / n_rows + l2 * flat
        return total / n_rows + 0.5 * l2 * float(flat @ flat), mean

    start = np.zeros(math.prod(shape))
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=_OPTIONS)
    return found.x.reshape(shape), f"SciPy's L-BFGS-B: {found.message}"


def majority_label(table: Table) -> float:
    """Return the commonest label of the rows, whatever they weigh; the least of several."""
    plain = (Table.plain_labels(block.y) for block in table.blocks)
    values = np.concatenate([np.zeros(0), *plain])
    labels, counts = np.unique(values, return_counts=True)
    return float(labels[counts.argmax()]) if labels.size else -1.0


def objective_of(table: Table, loss: Loss, l2: float, w: np.ndarray) -> float | None:
    """Return the exact mean loss of the rows plus ``l2 / 2 ||w||^2``; ``None`` of no rows."""
    total = 0.0
    for block in table.blocks:
        out = np.empty(block.n_rows)
        loss.value(np.ascontiguousarray(block.margins(w)), block.y, out)
        total += float(out.sum())
    flat = w.reshape(-1)
    return total / table.n_rows + 0.5 * l2 * float(flat @ flat) if table.n_rows else None
