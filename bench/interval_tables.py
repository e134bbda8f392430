"""Populations of known minimiser for intervals: generated rows, and few columns of real tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import Schema
from dpcore.data.dataset import Dataset
from dpcore.fitting.rows.given import dataset_of
from dpcore_tables.datasets import adult as adult_rows
from dpcore_tables.datasets import bank as bank_rows
from dpcore_tables.datasets.fetch import fetch

__all__ = ["TABLES", "Population", "of_arrays", "population"]

_OF_ADULT = {
    "age": {"kind": "numeric", "lower": 17, "upper": 90},
    "education-num": {"kind": "numeric", "lower": 1, "upper": 16},
    "hours-per-week": {"kind": "numeric", "lower": 1, "upper": 99},
    "sex": {"kind": "categorical", "categories": ["Male"]},
}
_OF_BANK = ("age", "housing", "loan", "contacted-before")
_OF_BIKE = (8, 10, 12, 13)
"""Working day, temperature, humidity and wind; its target is the logarithm of a count."""


@dataclass(frozen=True, eq=False)
class Population:
    """A table whose rows are drawn from, as encoded rows; ``loss`` is logistic or ridge.

    ``X`` : its distinct rows, float64 of shape (n_distinct, n_features), and ``y`` their labels.
    ``place`` : of every row of the table, the distinct row that it is.
    """

    dataset: Dataset
    loss: str
    X: np.ndarray
    y: np.ndarray
    place: np.ndarray

    def drawn(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Return how often each distinct row is among ``n`` draws with replacement."""
        drawn = self.place[rng.integers(0, self.place.size, n)]
        return np.bincount(drawn, minlength=self.y.size).astype(float)

    def whole(self) -> np.ndarray:
        """Return how often each distinct row is in the table."""
        return np.bincount(self.place, minlength=self.y.size).astype(float)

    def derivatives(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes and curvatures of the loss at every distinct row."""
        margins = self.X @ w
        if self.loss == "ridge":
            return margins - self.y, np.ones(self.y.size)
        p = 1.0 / (1.0 + np.exp(self.y * margins))
        return -self.y * p, p * (1.0 - p)

    def gradient(self, w: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the sum of gradients at a point."""
        return self.X.T @ (counts * self.derivatives(w)[0])

    def products(self, w: np.ndarray, counts: np.ndarray, by: str) -> np.ndarray:
        """Return the sum of squared gradients, by ``slope``, or of curvatures, by ``curvature``."""
        slope, curvature = self.derivatives(w)
        weights = counts * (slope**2 if by == "slope" else curvature)
        return (self.X * weights[:, None]).T @ self.X

    def minimiser(self, counts: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return the minimiser of the sum of losses of so many of each row, by Newton's steps."""
        w = np.zeros(self.X.shape[1]) if start is None else start
        for _ in range(25):
            curvature = self.products(w, counts, "curvature")
            step = np.linalg.solve(curvature, self.gradient(w, counts))
            w = w - step
            if np.abs(step).max() < 1e-6:  # The next one would be of its square.
                break
        return w

    def plain_errors(self, counts: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the sandwich's standard errors without privacy, at the rows' minimiser ``w``."""
        inverse = np.linalg.inv(self.products(w, counts, "curvature"))
        return np.sqrt(np.diag(inverse @ self.products(w, counts, "slope") @ inverse))


def _generated() -> Dataset:
    """Return the generated population: two numbers and a rare truth value; 50,000 rows whose log
    odds are not linear."""
    rng = np.random.default_rng(7)
    X = np.stack([rng.random(50_000), rng.beta(2, 4, 50_000), rng.random(50_000) < 0.2], 1)
    log_odds = 2.0 * X[:, 0] - 3.0 * X[:, 1] + X[:, 2] - 0.5 + 0.8 * np.sin(6.0 * X[:, 1])
    y = (rng.random(50_000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    return of_arrays(X.astype(float), y, classes=(0, 1), bounds=(0, 1))


def _bike() -> Dataset:
    """Return bike by four columns that lie between 0 and 1, and the target between 0 and 7."""
    file = Path(os.environ["DPCORE_DATA_DIR"]) / "regression" / "bike.csv.gz"
    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    X = np.ascontiguousarray(rows[:, list(_OF_BIKE)])
    return of_arrays(X, rows[:, -1], classes=None, bounds=(0, 1), target_bounds=(0, 7))


def of_arrays(X: np.ndarray, y: np.ndarray, **others: Any) -> Dataset:
    """Return encoded rows of public bounds, classes or target bounds, no number of rows known."""
    none = dict.fromkeys(("target_bounds", "row_norm", "n0", "capacity"))
    return dataset_of(X, y, None, True, private_bounds=False, **{**none, **others})


def _adult() -> Dataset:
    return adult_rows.load(_few(adult_rows.schema(), _OF_ADULT))


def _bank() -> Dataset:
    columns = bank_rows.schema().to_dict()["columns"]
    kept = {column["name"]: column for column in columns if column["name"] in _OF_BANK}
    return Dataset.from_file(fetch(bank_rows.FILES[0]), _few(bank_rows.schema(), kept), name="bank")


def _few(schema: Schema, kept: dict[str, dict[str, Any]]) -> Schema:
    """Return a schema that drops all columns but these, and says no number of rows."""
    content = schema.to_dict()
    columns = [
        column
        if column["kind"] == "label"
        else {"name": column["name"], **kept.get(column["name"], {"kind": "drop"})}
        for column in content["columns"]
    ]
    left_out = {"rows", "row_norm"}
    content = {key: value for key, value in content.items() if key not in left_out}
    return Schema.from_dict({**content, "columns": columns})


def population(rows: Dataset, loss: str) -> Population:
    """Return the population that a table's rows are."""
    dataset = replace(rows, name="table")
    X: Any = dataset.X
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), float)
    rows = np.column_stack([dense, dataset.y])
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    X, y = np.ascontiguousarray(distinct[:, :-1]), np.ascontiguousarray(distinct[:, -1])
    return Population(dataset, loss, X, y, place.ravel())


TABLES: dict[str, Callable[[], Population]] = {
    "generated": lambda: population(_generated(), "logistic"),
    "adult": lambda: population(_adult(), "logistic"),
    "bank": lambda: population(_bank(), "logistic"),
    "bike": lambda: population(_bike(), "ridge"),
}
