"""Loops over the slopes of a batch, and over the steps of a schedule."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["bound_coefficients", "recurrence", "walk"]


@njit(cache=True, error_model="numpy", nogil=True)
def bound_coefficients(c: np.ndarray, factor: np.ndarray, lipschitz: float) -> None:
    """Hold ``c`` to [-lipschitz, lipschitz], NaN to 0, and scale it by the row's factor."""
    for i in range(c.shape[0]):
        size = abs(c[i])
        kept = size if size <= lipschitz else lipschitz
        kept = kept if size < np.inf else 0.0
        c[i] = (kept if c[i] > 0.0 else -kept) * factor[i]


@njit(cache=True, error_model="numpy")
def walk(
    steps: np.ndarray,
    fixed: float,
    per_reach: float,
    gradient: float,
    mu: float,
    ball: float,
    projection: float,
    slack: np.ndarray,
) -> float:
    """Fill ``slack`` with the largest ``2 e_t`` of each epoch; return a bound of every ``||w_t||``.

    ``||w_(t+1)|| <= |1 - eta mu| ||w_t|| + eta R + e_t``, the ball's radius at most.
    """
    reach = 0.0
    for s in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            eta = steps[s, j]
            update = 4.0 * eta * (gradient + mu * reach) + 2.0 * reach
            error = eta * (fixed + per_reach * reach) + 2.220446049250313e-16 * update
            error = (error + projection) * (1.0 + 2.0**-40)
            grown = (abs(1.0 - eta * mu) + 2.0**-50 * (1.0 + eta * mu)) * reach + eta * gradient
            grown = (grown + error) * (1.0 + 2.0**-40)
            reach = min(max(reach, grown), ball)
            slack[s] = max(slack[s], 2.0 * error)
    return reach


@njit(cache=True, error_model="numpy")
def recurrence(
    steps: np.ndarray,
    rho: np.ndarray,
    slack: np.ndarray,
    share: np.ndarray,
    average_every: int,
    mean_slack: float,
    work: np.ndarray,
    deltas: np.ndarray,
) -> None:
    """Fill ``deltas`` (n_batches,): the bound of each batch. ``work`` : zeros (3, n_batches).

    ``_up(x)`` is at least the next float above x: above the real result that x rounds.
    With S_j the product of rho after step j, and A_j = 1 + rho_(j+1) A_(j+1) its sums over the
    epoch's later iterates, an epoch takes D_j to S D_j + S_j b_j, and its iterates add up to
    rho_0 A_0 D_j + A_j b_j; rounding adds its part to both in the same way.
    """
    m = deltas.shape[0]
    after, until, sums = work[0], work[1], work[2]
    for s in range(steps.shape[0]):
        product, total, drift, drifts = 1.0, 1.0, 0.0, 0.0
        for j in range(m - 1, -1, -1):
            after[j], until[j] = product, total
            drift = _up(drift + _up(product * slack[s]))
            drifts = _up(drifts + _up(total * slack[s]))
            product = _up(product * rho[s, j])
            total = _up(rho[s, j] * total) if j == 0 else _up(1.0 + _up(rho[s, j] * total))
        for j in range(m):
            b = _up(steps[s, j] * share[j])
            seen = _up(_up(total * deltas[j]) + _up(until[j] * b))
            sums[j] = _up(sums[j] + _up(seen + drifts))
            deltas[j] = _up(_up(_up(product * deltas[j]) + _up(after[j] * b)) + drift)
        if average_every > 0 and (s + 1) % average_every == 0:
            for j in range(m):
                deltas[j] = _up(_up(sums[j] / (m * average_every)) + mean_slack)
                sums[j] = 0.0


@njit(error_model="numpy", fastmath=False)
def _up(x: float) -> float:
    """Return at least the next float above x, for x >= 0."""
    return x * (1.0 + 2.220446049250313e-16) + 2.2250738585072014e-308
