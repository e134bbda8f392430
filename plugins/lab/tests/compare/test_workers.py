"""Fits as tasks of an engine, in processes that outlive a comparison."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from dpcore.plugin.parts import LocalEngine, Registry
from dpcore_lab.compare import workers
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.runner import run
from dpcore_lab.compare.settings import Comparison


class Lent(LocalEngine):
    """Its one process is this one, which outlives every comparison."""

    @classmethod
    @contextmanager
    def executor(cls, address, workers):
        with ThreadPoolExecutor(1) as pool:
            yield pool


@pytest.fixture
def lent(monkeypatch):
    usual = Registry.load

    def load(self, kind, name):
        return Lent if (kind, name) == ("engine", "lent") else usual(self, kind, name)

    monkeypatch.setattr(Registry, "load", load)
    yield
    workers._fitters.clear()


def compared_there(comparison):
    settings, _ = admit(comparison)
    rows = run(settings, None, engine="lent").rows
    return [{k: v for k, v in row.items() if k != "exact_seconds"} for row in rows]


def test_a_process_that_outlives_a_comparison_takes_the_settings_of_the_next(compared, lent):
    first = compared(repeats=1)
    second = dataclasses.replace(first, delta=1e-4, l2=0.5)
    compared_there(first)
    there = compared_there(second)
    assert {row["delta"] for row in there if row["epsilon"]} == {1e-4}
    settings, _ = admit(second)
    here = run(settings, None).rows
    assert there == [{k: v for k, v in row.items() if k != "exact_seconds"} for row in here]


@pytest.mark.slow
def test_a_process_that_outlives_a_comparison_reads_a_file_again(stub, lent, folder):
    asked = Comparison(("stub",), ("rows.csv",), (1.0,), folds=2, schema="schema.toml", seed=7)
    before = compared_there(asked)
    rows = (folder / "rows.csv").read_text()
    (folder / "rows.csv").write_text(rows.replace("yes", "no"))
    assert compared_there(asked) != before
    (folder / "rows.csv").write_text(rows)
    assert compared_there(asked) == before
