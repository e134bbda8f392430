"""A plugin of the figures: the benchmarks' rows scaled to norm 1, as in Chen, Lee & Kifer 2019,
section 5. With the intercept's 1 no row is shorter, so that the row norm 1 is every row's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpcore.data.dataset import Dataset
from dpcore.plugin import hookimpl
from dpcore_tables.datasets import a9a, bank, beside, fetch, kddcup99
from dpcore_tables.files import assemble, encode_piece
from dpcore_tables.readers.libsvm import LibsvmFile


@hookimpl
def register_datasets(register: Callable[..., None]) -> None:
    for name in ("a9a", "bank", "kddcup99-10", "ipums-br", "ipums-us"):
        load = f"dpcore_unit_rows:load_{name.partition('cup')[0].replace('-', '_')}"
        register(f"{name}-unit", load, summary=f"{name}, rows of norm 1.")


def load_a9a() -> Dataset:
    """Return a9a, whose features have no names: they are scaled while they are read."""
    schema = replace(a9a.schema(), norm=1.0)
    files = [LibsvmFile(str(fetch.fetch(file)), 123) for file in a9a.FILES]
    pieces = (encode_piece(raw, schema) for file in files for raw in file.pieces())
    return Dataset.from_rows("a9a-unit", assemble(pieces), schema)


def load_bank() -> Dataset:
    return _unit(bank.load())


def load_kdd() -> Dataset:
    return _unit(kddcup99.load())


def load_ipums_br() -> Dataset:
    return _unit(beside.load_ipums_br())


def load_ipums_us() -> Dataset:
    return _unit(beside.load_ipums_us())


def _unit(dataset: Dataset) -> Dataset:
    """Return the rows as they are, to be scaled by the blocks."""
    schema = replace(dataset.schema, norm=1.0)
    return replace(dataset, name=f"{dataset.name}-unit", schema=schema)
