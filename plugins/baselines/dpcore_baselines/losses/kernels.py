"""Values and slopes of the losses, row by row: plain IEEE operations."""

import numpy as np

from dpcore.plugin import njit

__all__ = [
    "hinge_dvalue",
    "hinge_value",
    "huber_dvalue",
    "huber_value",
    "quantile_dvalue",
    "quantile_value",
]


@njit(cache=True, error_model="numpy", nogil=True)
def hinge_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses."""
    for i in range(z.shape[0]):
        slack = 1.0 - y[i] * z[i]
        out[i] = slack if slack > 0.0 else 0.0


@njit(cache=True, error_model="numpy", nogil=True)
def hinge_dvalue(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes."""
    for i in range(z.shape[0]):
        out[i] = -y[i] if y[i] * z[i] < 1.0 else 0.0


@njit(cache=True, error_model="numpy", nogil=True)
def huber_value(z: np.ndarray, y: np.ndarray, h: float, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses."""
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        gap = 1.0 + h - m
        middle = gap * gap * (1.0 / (4.0 * h))
        inner = middle if gap > 0.0 else 0.0
        out[i] = 1.0 - m if m < 1.0 - h else inner


@njit(cache=True, error_model="numpy", nogil=True)
def huber_dvalue(z: np.ndarray, y: np.ndarray, h: float, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes."""
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        gap = 1.0 + h - m
        steep = -gap * (1.0 / (2.0 * h)) if gap > 0.0 else 0.0
        inner = steep if steep > -1.0 else -1.0
        out[i] = y[i] * (-1.0 if m < 1.0 - h else inner)


@njit(cache=True, error_model="numpy", nogil=True)
def quantile_value(z: np.ndarray, y: np.ndarray, tau: float, h: float, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses; ``h`` : the half-width, 0 for a corner. A parabola of two
    terms >= 0: nothing cancels, so that a loss next to 0 is as precise as any."""
    quarter = 0.25 / h if h > 0.0 else 0.0
    for i in range(z.shape[0]):
        r = y[i] - z[i]
        inner = quarter * (tau * (h + r) * (h + r) + (1.0 - tau) * (h - r) * (h - r))
        outer = tau * r if r > 0.0 else (tau - 1.0) * r
        out[i] = inner if abs(r) < h else outer


@njit(cache=True, error_model="numpy", nogil=True)
def quantile_dvalue(z: np.ndarray, y: np.ndarray, tau: float, h: float, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes, from -tau to 1 - tau; at a corner the former."""
    half = 0.5 / h if h > 0.0 else 0.0
    for i in range(z.shape[0]):
        r = y[i] - z[i]
        bent = half * ((1.0 - tau) * (h - r) - tau * (h + r))
        least = bent if bent > -tau else -tau
        inner = least if least < 1.0 - tau else 1.0 - tau
        outer = -tau if r >= 0.0 else 1.0 - tau
        out[i] = inner if abs(r) < h else outer
