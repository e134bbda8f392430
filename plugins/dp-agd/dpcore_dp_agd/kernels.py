"""The loop over the rows of one candidate step."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["line_margins"]


@njit(cache=True, error_model="numpy", nogil=True)
def line_margins(
    z: np.ndarray, z_direction: np.ndarray, step: float, factor: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the margins of ``w - step * direction``, from the raw ones of both."""
    for i in range(out.shape[0]):
        out[i] = (z[i] - step * z_direction[i]) * factor[i]
