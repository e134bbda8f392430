"""Made rows with categories."""

import numpy as np

from dpcore_tables.coded import CodedLayout, CodedRows


def coded(n=300, seed=9):
    """Rows of two numbers, categories of 3 and 260, and an intercept; some categories unknown."""
    rng = np.random.default_rng(seed)
    features = [*range(2, 5), 265 + 1, *range(5, 265), 265 + 1]
    layout = CodedLayout(266, np.array([0, 1, 265]), np.array(features), np.array([0, 4, 265]))
    numeric = np.hstack([rng.random((n, 2)), np.ones((n, 1))]).astype(np.float32)
    codes = np.stack([rng.integers(0, 4, n), 4 + rng.integers(0, 261, n)], axis=1)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return CodedRows(layout, numeric, codes.astype(layout.code_type)), y
