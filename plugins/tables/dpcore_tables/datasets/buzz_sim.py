"""Generated popularity of topics: 100,000 rows of 77 heavy-tailed counts, and a log target.

In the shape of the ridge experiment of Ligett et al. 2017 (eleven measures of a topic over seven
days, and its popularity afterwards), whose data cannot be shipped. Made anew at every load from a
seed of its own; nobody's data. Only the generator's raw 64-bit stream (which NumPy keeps stable)
and plain IEEE operations are used, but for the target's logarithm, which is rounded to 2^-12.
"""

from __future__ import annotations

import numpy as np

from dpcore import Schema
from dpcore.plugin.columns import Label, Numeric
from dpcore.plugin.parts import Dataset
from dpcore_tables.cells.columns import Columns
from dpcore_tables.cells.features import encode

__all__ = ["load", "schema"]

_SEED = 20171204
_ROWS = 100_000
_DAYS = 7
_MEASURES = {
    "created": 6.0,
    "authors": 9.0,
    "discussions": 4.0,
    "replies": 14.0,
    "links": 2.0,
    "quotes": 3.0,
    "length": 20.0,
    "contributors": 11.0,
    "atoms": 16.0,
    "burst": 1.0,
    "attention": 8.0,
}
"""How often each is counted where the latent popularity is 1."""
_MOST = 4096.0
"""The public upper bound of a count: what is above is clamped."""
_LOG_BOUND = 16.0


def schema() -> Schema:
    """Return the public schema: 77 counts, no intercept (no counts, no popularity)."""
    columns = [Numeric(f"{m}-{day}", 0.0, _MOST) for m in _MEASURES for day in range(_DAYS)]
    label = Label("log-popularity", lower=-_LOG_BOUND, upper=_LOG_BOUND)
    return Schema((*columns, label), rows=_ROWS, capacity=_ROWS, norm=1.0, intercept=False)


def load() -> Dataset:
    """Return the generated rows, the same ones every time."""
    described = schema()
    bits = np.random.PCG64(_SEED)

    def uniform(*shape: int) -> np.ndarray:
        raw = bits.random_raw(int(np.prod(shape))) >> np.uint64(11)
        return (raw.astype(np.float64) + 0.5).reshape(shape) * 2.0**-53

    # A Pareto distribution: P(popularity > t) = t^(-8/7).
    u = uniform(_ROWS)
    popularity = 1.0 / np.sqrt(u * np.sqrt(u * np.sqrt(u)))
    values: dict[str, np.ndarray] = {}
    for measure, rate in _MEASURES.items():
        taste = 0.25 + 1.5 * uniform(_ROWS)
        for day in range(_DAYS):
            noise = 0.5 + uniform(_ROWS)
            values[f"{measure}-{day}"] = np.floor(rate * popularity * taste * noise)
    after = popularity * (0.5 + uniform(_ROWS)) * 64.0
    log = np.rint(np.log2(1.0 + after) * 4096.0) / 4096.0
    values["log-popularity"] = np.minimum(log, _LOG_BOUND) / _LOG_BOUND
    rows = encode(Columns(values, _ROWS), described)
    return Dataset.from_rows("buzz-sim", rows, described, is_generated=True)
