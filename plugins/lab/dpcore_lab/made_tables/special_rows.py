"""Rows at which a special case of a query is likely to hide: zeros, powers of two and bounds."""

from __future__ import annotations

from itertools import product

import numpy as np

from dpcore.plugin import Problem
from dpcore_lab.made_tables.tables import RAW_NORM_BOUND, ROW_NORM, Rows, labels_of

__all__ = ["SPECIAL_VALUES", "cut_to_bound", "special_rows"]

_STEP = 2.0**-Problem.FEATURE_BITS
SPECIAL_VALUES = np.array(
    [
        0.0,
        *(2.0**-k for k in range(Problem.FEATURE_BITS, -2, -1)),
        0.1,
        0.3,
        0.75,
        1 - _STEP,
        ROW_NORM,
    ]
)
"""Values of a feature, each with either sign: the whole range of the grid in powers of two."""

_FEW = (0.0, _STEP, 2.0**-8, 0.125, 0.25, 0.5, 1.0, ROW_NORM, RAW_NORM_BOUND)


def special_rows(n_features: int, n_classes: int, few: bool = False) -> Rows:
    """Return rows that have one of the special values at one place, with zeros or odd numbers at
    the others, and every label; a regression's take special values too.

    ``n_classes`` : of the labels, 0 for real-valued targets. ``few`` : a tenth of the rows.
    """
    rng = np.random.default_rng(n_features)
    odd = 0.3 * rng.uniform(-1, 1, size=n_features)
    values, signs = (_FEW if few else SPECIAL_VALUES), (1.0, -1.0)
    X, y = [], []
    labels = labels_of(n_classes)
    for place, value, sign, label in product(range(n_features), values, signs, labels):
        for others in (np.zeros(n_features),) if few else (np.zeros(n_features), odd):
            row = others.copy()
            row[place] = sign * value
            X.append(row)
            y.append(label)
    if not n_classes:
        targets = np.array([sign * v for v in SPECIAL_VALUES if v <= 1 for sign in signs])
        X += [odd] * targets.size
        y += list(targets)
    return Rows(cut_to_bound(np.array(X)), np.array(y), n_classes=n_classes)


def cut_to_bound(X: np.ndarray) -> np.ndarray:
    """Return the rows, shortened where they are longer than any row of a made table."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    shortened: np.ndarray = X * np.minimum(1.0, RAW_NORM_BOUND / np.maximum(norms, 1e-300))
    return shortened
