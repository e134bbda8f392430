"""A generated census of 50,000 rows: Adult's columns, its published marginals, a planted rule.

Made anew at every load from a seed of its own, so that it needs no file and no network. The data
are not private and nobody's. Only the generator's raw 64-bit stream (which NumPy keeps stable) and
plain IEEE operations are used, so that every machine makes the same rows. A person's income is
above the threshold with a probability that is a sigmoid of a linear score: about 24 % are, and no
predictor is right in more than about 85 %.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.cells.columns import Columns
from dpcore_tables.cells.features import encode
from dpcore_tables.datasets import adult
from dpcore_tables.kinds import Categorical

__all__ = ["load", "schema"]

_SEED = 19940401
_ROWS = 50_000

# Frequencies of the categories per 10,000, in the order of the schema (UCI Adult, rounded). Where a
# column is conditional on another, see _draw.
_FREQUENCIES = {
    "workclass": (6942, 791, 347, 293, 642, 406, 4, 2, 573),
    "education": (
        *(1643, 2227, 371, 3232, 171, 328, 422, 155),
        *(196, 135, 544, 51, 284, 122, 104, 15),
    ),
    "marital-status": (4582, 1358, 3300, 313, 311, 128, 8),
    "occupation": (
        *(296, 1251, 1008, 1127, 1246, 1264, 424, 619),
        *(1149, 305, 482, 50, 201, 3, 575),
    ),
    "race": (8550, 311, 96, 83, 960),
    "native-country": (
        *(8974, 6, 26, 38, 37, 42, 5, 31, 19, 10, 24, 25, 28, 12, 4, 60, 21, 18, 22, 18, 195),
        *(14, 8, 8, 21, 5, 9, 13, 15, 17, 4, 18, 10, 4, 6, 5, 32, 6, 9, 6, 1, 166),
    ),
    "unmarried relationship": (0, 2790, 0, 4740, 560, 1910),
}
_EDUCATION_YEARS = (13, 10, 7, 9, 15, 12, 11, 5, 4, 8, 14, 2, 6, 16, 3, 1)
_WIFE, _HUSBAND = 0, 2
_MALE_OF_10000 = {True: 8930, False: 4800}
"""Of married and of other people."""

# Knots (cumulative share per 10,000, value) of the numeric columns, linear in between.
_QUANTILES = {
    "age": ((0, 17), (500, 19), (2500, 28), (5000, 37), (7500, 48), (9500, 63), (9900, 74),
            (10000, 91)),
    "fnlwgt": ((0, 12285), (500, 39600), (2500, 117550), (5000, 178140), (7500, 237640),
               (9500, 379480), (9900, 509480), (10000, 1484706)),
    "capital-gain": ((0, 0), (9170, 0), (9171, 114), (9400, 3500), (9600, 7300), (9800, 9000),
                     (9940, 20000), (9950, 99999), (10000, 99999)),
    "capital-loss": ((0, 0), (9530, 0), (9531, 1400), (9750, 1890), (9980, 2500), (10000, 4357)),
    "hours-per-week": ((0, 1), (500, 18), (2000, 40), (6700, 41), (7500, 46), (9500, 61),
                       (9900, 81), (10000, 100)),
}  # fmt: skip

# The planted rule: points per unit of a number, or per category.
_POINTS = {"age": 3, "education-num": 32, "hours-per-week": 3}
_GAIN_POINTS_PER_100 = 3
_LOSS_POINTS_PER_100 = 5
_MARRIED_POINTS = 230
_MALE_POINTS = 15
_OCCUPATION_POINTS = (40, 5, -80, 25, 80, 55, -70, -30, 0, -100, -10, -150, 45, 0, -40)
_THRESHOLD = 865
_SPREAD = 128.0
"""Points over which the probability goes from even to 85 %."""


def schema() -> Schema:
    """Return Adult's schema with 50,000 as the public number of rows."""
    return replace(adult.schema(), rows=_ROWS)


def load() -> Dataset:
    """Return the generated rows, the same ones every time."""
    described = schema()
    stream = _Uniform(_SEED, _ROWS)
    values = _draw(stream)
    score = _score(values)
    t = (score - _THRESHOLD) / _SPREAD
    positive = stream.draw() < 0.5 + 0.5 * t / np.sqrt(1.0 + t * t)
    values[described.label.name] = np.where(positive, 1.0, -1.0)
    rows = encode(Columns(values, _ROWS), described)
    return Dataset.from_rows("census-sim", rows, described, is_generated=True)


class _Uniform:
    """Columns of numbers on a 2^-53 grid in [0, 1), from PCG64's raw stream."""

    def __init__(self, seed: int, n_rows: int) -> None:
        self._bits = np.random.PCG64(seed)
        self._n_rows = n_rows

    def draw(self) -> np.ndarray:
        return (self._bits.random_raw(self._n_rows) >> np.uint64(11)) * 2.0**-53

    def category(self, frequencies: tuple[int, ...]) -> np.ndarray:
        """Return int32 positions with the given relative frequencies."""
        ends = np.cumsum(frequencies)
        at = np.searchsorted(ends, self.draw() * ends[-1], side="right")
        return np.asarray(np.minimum(at, len(ends) - 1).astype(np.int32))

    def number(self, knots: tuple[tuple[int, int], ...]) -> np.ndarray:
        """Return whole numbers with the given quantiles, interpolated in integers, as float64."""
        shares, values = np.array(knots, dtype=np.int64).T
        share = (self._bits.random_raw(self._n_rows) >> np.uint64(36)).astype(np.int64) * 10_000
        ends = shares << 28
        left = np.searchsorted(ends, share, side="right") - 1
        run, rise = np.diff(ends)[left], np.diff(values)[left]
        return np.asarray((values[left] + (share - ends[left]) * rise // run).astype(np.float64))


def _draw(stream: _Uniform) -> dict[str, np.ndarray]:
    """Return the feature columns: independent, but for years of education, sex and relationship."""
    values = {name: stream.number(knots) for name, knots in _QUANTILES.items()}
    for column in adult.schema().features:
        if isinstance(column, Categorical) and column.name in _FREQUENCIES:
            values[column.name] = stream.category(_FREQUENCIES[column.name])
    values["education-num"] = np.array(_EDUCATION_YEARS, dtype=np.float64)[values["education"]]
    married = values["marital-status"] == 0
    male_share = np.where(married, _MALE_OF_10000[True], _MALE_OF_10000[False])
    values["sex"] = (stream.draw() * 10000.0 < male_share).astype(np.int32)
    other = stream.category(_FREQUENCIES["unmarried relationship"])
    spouse = np.where(values["sex"] == 1, _HUSBAND, _WIFE)
    values["relationship"] = np.where(married, spouse, other).astype(np.int32)
    return values


def _score(values: dict[str, np.ndarray]) -> np.ndarray:
    """Return the planted rule's points of every row, float64."""
    score = np.array(_OCCUPATION_POINTS, dtype=np.float64)[values["occupation"]]
    for name, points in _POINTS.items():
        score += points * values[name]
    score += _GAIN_POINTS_PER_100 * values["capital-gain"] / 100.0
    score += _LOSS_POINTS_PER_100 * values["capital-loss"] / 100.0
    score += _MARRIED_POINTS * (values["marital-status"] == 0)
    return np.asarray(score + _MALE_POINTS * (values["sex"] == 1))
