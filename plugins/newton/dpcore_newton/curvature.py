"""Curvatures of a row's loss in its margin, as functions of one row.

* ``bound`` : its largest value, whatever the margin: 1/4 of the logistic loss, at every point what
  the Hessian is at 0 (Boehning & Lindsay 1988).
* ``hessian`` : p (1 - p) of the logistic loss, p = 1 / (1 + exp(-z)).
* ``upper-bound`` : tanh(z/2) / (2 z), the least curvature of a parabola that touches the logistic
  loss at z and is nowhere below it (Jaakkola & Jordan 2000): the paper's quadratic upper bound.

None depends on the label, and none is above 1/4 or below 0.
"""

import math

import numpy as np

__all__ = ["CURVATURES", "bound", "hessian", "upper_bound"]


def bound(z: float, y: float, parameters: np.ndarray) -> float:
    """Return the first parameter."""
    return parameters[0]


def hessian(z: float, y: float, parameters: np.ndarray) -> float:
    """Return p (1 - p), by an exponential that is at most 1."""
    e = math.exp(-abs(z))
    return e / ((1.0 + e) * (1.0 + e))


def upper_bound(z: float, y: float, parameters: np.ndarray) -> float:
    """Return tanh(z/2) / (2 z); near 0, where it is 0 / 0, its series to z^2."""
    size = abs(z)
    return math.tanh(0.5 * size) / (2.0 * size) if size > 1e-3 else 0.25 - z * z / 48.0


CURVATURES = {"bound": bound, "hessian": hessian, "upper-bound": upper_bound}
"""By the name that the option ``curvature`` has for it."""
