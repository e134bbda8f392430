"""Probabilities of classes by the margins of rows."""

import numpy as np

__all__ = ["blank_rows", "probabilities_of"]


def probabilities_of(margins: np.ndarray, *, one_vs_rest: bool = False) -> np.ndarray:
    """Return the probabilities of the classes, of shape (n_rows, n_classes), each to full relative
    precision.

    From log odds, of shape (n_rows,), they are those of the negative and the positive class; from
    margins of shape (n_classes, n_rows) they are the softmax.

    ``one_vs_rest`` : such margins are the log odds of each class against the rest; the
    probabilities that follow are divided by their sum, as scikit-learn does it: in logarithms, so
    that they have a sum where all of them are next to nothing.
    """
    from scipy.special import expit, log_expit, softmax

    if margins.ndim == 1:
        return np.column_stack([expit(-margins), expit(margins)])
    return np.asarray(softmax(log_expit(margins) if one_vs_rest else margins, axis=0).T)


def blank_rows(margins: np.ndarray) -> np.ndarray:
    """Return which rows have no score, bool of shape (n_rows,)."""
    return np.asarray(np.isnan(margins if margins.ndim == 1 else margins[0]))
