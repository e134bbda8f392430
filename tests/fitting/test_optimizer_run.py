"""A failure in a run: whose place is told, and, of rows that are no secret, why."""

import sys

import numpy as np
import pytest

from dpcore.errors import OptimizerError, full_text
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.plugin.parts import Registration, Registry
from dpcore_baselines.dp_gd import DpGd
from dpcore_lab.checks import check_huge_epsilon_limit, check_repeatable_when_seeded, run_checks

ENTRY = Registration("optimizer", "dp-gd", "dpcore_baselines.dp_gd:DpGd", "", "", "dist", "1.0")
NOISE = Registration("mechanism", "theirs", "their_noise:Theirs", "Noise.", "", "their-dist", "1.0")
SOURCE = """
def release(exact):
    try:
        {}["scale"]
    except KeyError as error:
        raise TypeError("no scale") from error

def again(exact):
    try:
        release(exact)
    except TypeError as error:
        raise ValueError(f"the first row is {exact}") from error
"""


@pytest.fixture
def theirs(monkeypatch):
    """A registered module that is not the optimizer's, and fails."""
    module = type(sys)("their_noise")
    exec(compile(SOURCE, "their_noise/noise.py", "exec"), module.__dict__)
    registry = Registry([NOISE])
    monkeypatch.setattr("dpcore.fitting.optimizer_run.load_registry", lambda: registry)
    return module


class Asks(DpGd):
    """Its mechanism, somebody else's, fails."""

    theirs = None

    def minimize(self, problem, session):
        type(self).theirs.again(41)


@pytest.fixture
def optimizer(theirs):
    Asks.theirs = theirs
    return Asks()


def test_the_failing_plugins_own_place_is_told_and_nothing_else(optimizer):
    with pytest.raises(OptimizerError) as caught:
        run_optimizer(optimizer, ENTRY, None, None)
    assert str(caught.value) == "dp-gd (dist 1.0) failed: ValueError in their_noise/noise.py:12."
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_over_rows_that_are_no_secret_every_cause_is_told(optimizer):
    with pytest.raises(OptimizerError) as caught:
        run_optimizer(optimizer, ENTRY, None, None, secret_rows=False)
    assert str(caught.value) == (
        "dp-gd (dist 1.0) failed: ValueError in their_noise/noise.py:12: the first row is 41 "
        "(from TypeError in their_noise/noise.py:6: no scale; "
        "from KeyError in their_noise/noise.py:4: 'scale')."
    )


def test_a_check_tells_them_too(optimizer, monkeypatch):
    one = (check_repeatable_when_seeded,)
    monkeypatch.setattr("dpcore_lab.checks.run.checks_of", lambda part, kind: one)
    outcome = run_checks(optimizer)[0]
    assert not outcome.passed and "the first row is 41 (from TypeError" in outcome.reason


def test_what_suppresses_its_context_has_none():
    def fails():
        try:
            {}["step"]
        except KeyError:
            raise ValueError from None

    with pytest.raises(ValueError) as caught:
        fails()
    assert "from" not in full_text(caught.value, {"test_optimizer_run"})


class Lazy(DpGd):
    """Finds next to nothing out."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        return type(solution)(np.zeros(problem.n_features), "Done.")


def test_the_check_of_the_limit_says_which_objective_it_means():
    told = (
        r"gain in the mean logistic loss \+ \(l2 / 2\) .*l2=0.01, on 2,000 rows .* from 0.693147 "
    )
    with pytest.raises(AssertionError, match=rf"{told}at 0 to 0.693147, where 0\.\d+ is the least"):
        check_huge_epsilon_limit(Lazy(steps=3))
