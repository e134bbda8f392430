"""A comparison's rows in one process: the data set and the fold in use, as tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.commands import DataRequest
from dpcore.plugin.parts import load_registry
from dpcore_lab.compare.folds import fold_numbers, unit_coins
from dpcore_tables.files.formats import entry_of
from dpcore_tables.files.input_paths import refuse_stdin

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from dpcore.plugin.parts import Dataset, Table
    from dpcore_lab.compare.settings import Comparison

__all__ = ["Data", "Fold", "Rows", "is_private", "refuse_queries", "request_for"]

_WARM_ROWS = 64


def refuse_queries(names: Iterable[str]) -> None:
    """Raise InvalidInputError, which repeats none, for an address of a database: results and
    pictures name their data, and a query may have values in it."""
    if any("://" in name and entry_of(name).data.get("query") for name in names):
        raise InvalidInputError(
            "A comparison takes no database: its results name their data, and a query may have "
            "values in it. Save the rows first, by dpcore convert ADDRESS rows.dpcore --query "
            "QUERY --schema SCHEMA, and compare on rows.dpcore."
        )


class Data(Protocol):
    """The rows of a data set or file, and what is to be stated of them, as a request loads them."""

    @property
    def train(self) -> Dataset: ...
    @property
    def why_not_private(self) -> tuple[str, ...]: ...
    @property
    def parts(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Fold:
    """The rows of one fold's fits: trained on, and tested on."""

    data: Data
    train: Dataset
    test: Dataset
    train_table: Table
    test_table: Table

    def warm(self) -> Dataset:
        """Return a few of the rows to train on, in the same layout."""
        return self.train.take(np.arange(self.train.y.size) < _WARM_ROWS)


class Rows:
    """Loads data sets and cuts folds, and keeps the last of each.

    ``key`` : the secret that folds of private rows are drawn from. ``threads`` : to read with.
    """

    def __init__(self, comparison: Comparison, key: bytes, threads: int | None = None) -> None:
        self._comparison, self._key, self._threads = comparison, key, threads
        self._relation = NeighboringRelation.parse(comparison.relation)
        self._data: tuple[str, Data, np.ndarray] | None = None
        self._fold: tuple[tuple[str, int], Fold] | None = None

    def data(self, name: str) -> Data:
        """Return all rows of a data set or file.

        Raises as ``DataRequest.load``, and InvalidInputError for more folds than rows.
        """
        return self._loaded(name)[0]

    def fold(self, name: str, number: int) -> Fold:
        """Return the fold of that number, tested on, and all other rows, trained on."""
        if self._fold is None or self._fold[0] != (name, number):
            self._fold = None  # let go of it before the next one is built
            data, numbers = self._loaded(name)
            train, test = data.train.take(numbers != number), data.train.take(numbers == number)
            self._fold = (name, number), Fold(data, train, test, train.table(), test.table())
        return self._fold[1]

    def _loaded(self, name: str) -> tuple[Data, np.ndarray]:
        if self._data is None or self._data[0] != name:
            self._data = self._fold = None
            private = is_private(name)
            asked = self._comparison
            request = replace(
                request_for(name, asked.schema),
                weight=asked.weight,
                weight_bound=asked.weight_bound,
            )
            refuse_stdin(request.data)
            coins = unit_coins(name, self._key)
            data = request.load(self._relation, self._threads, coins=coins)
            data.train.schema.require_bounds()
            numbers = fold_numbers(
                name,
                data.train.n_units,
                self._comparison.folds,
                self._relation,
                key=self._key if private else None,
            )
            units = data.train.units  # A unit is in one fold.
            self._data = name, data, numbers if units is None else numbers[units]
        return self._data[1:]


def request_for(name: str, schema: str | os.PathLike[str] | None) -> DataRequest:
    """Return the request for the rows of a name; ``schema`` : of files alone."""
    return DataRequest(name, None if schema is None or not is_private(name) else Path(schema))


def is_private(name: str) -> bool:
    """Return whether rows are a user's: all but those of a data set that is registered."""
    return name not in load_registry().names("dataset")
