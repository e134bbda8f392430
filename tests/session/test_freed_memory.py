"""Memory that a release frees holds no exact answer for whoever asks for an empty array next."""

import numpy as np
import pytest

from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, SeededNoise, Table, TableSession, load_registry

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


def empty_after_a_release(size):
    """Return the exact answer in steps and in units, and what arrays of its size hold at once."""
    rng = np.random.default_rng(size)
    X = rng.normal(size=(300, size))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    engine = LocalEngine(Table.from_matrix(X, np.ones(300), row_norm=1.0, raw_norm_bound=1.0))
    logistic = load_registry().load("loss", "logistic")()
    problem = Problem(logistic, 0.0, size, 1.0, 1.0, ADD)
    accountant = load_registry().load("accountant", "zcdp").from_budget(1.0, 1e-6)
    query = ClippedGradientSum(problem, np.full(size, 0.5), 1.0)
    exact = engine.answer(query)
    held = [np.full(size, 7) for _ in range(60)]  # what was freed so far
    del held
    session = TableSession(engine, accountant, ADD, SeededNoise(1))
    session.release(query, Gaussian(20.0))
    found = [np.empty(size, dtype=np.int64) for _ in range(40)]
    units = np.ldexp(exact.astype(float), -query.sensitivity(ADD).grid_bits)
    return [exact, exact.astype(float).view(np.int64), units.view(np.int64)], found


def holds(size):
    exact, found = empty_after_a_release(size)
    return any(np.array_equal(one, each) for one in exact for each in found)


def holds_some(size):
    """The same of any number: an allocator writes over the first of what it is given alone."""
    exact, found = empty_after_a_release(size)
    return any(((one == each) & (one != 0)).any() for one in exact for each in found)


@pytest.mark.parametrize("size", [1, 5, 127, 128, 1000])
def test_an_empty_array_after_a_release_is_not_the_exact_answer(size):
    assert not holds(size)


@pytest.mark.parametrize("size", [5, 64, 127])
def test_an_empty_array_after_a_release_has_no_number_of_the_exact_answer(size):
    assert not holds_some(size)


def test_it_would_be_were_it_not_written_over(monkeypatch):
    monkeypatch.setattr("dpcore.session.session.overwrite_freed", lambda size: None)
    assert holds(5) and holds(127) and holds_some(64)
