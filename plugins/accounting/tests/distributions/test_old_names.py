"""What was written by the names of before still loads, with a warning, or is told the new one."""

import importlib
import re

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LaplaceDpEvent, SeededNoise, Sensitivity
from dpcore_accounting import distributions
from dpcore_accounting.distributions import (
    AddedDeviates,
    ContinuousDistribution,
    IntegerDistribution,
    NoisyMaximum,
    TableNoise,
)

GAMMA = ContinuousDistribution((("gamma", 1.0, 2),))
ONE = Sensitivity("l1", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)


@pytest.mark.parametrize(
    ("old", "new"),
    [("ContinuousLaw", ContinuousDistribution), ("IntegerLaw", IntegerDistribution)],
)
def test_a_class_has_its_old_name_for_a_version(old, new):
    told = f"distributions.{old} is dpcore_accounting.distributions.{new.__name__} now"
    with pytest.warns(FutureWarning, match=told) as warned:
        assert getattr(distributions, old) is new
    assert warned[0].filename == __file__


def test_a_name_that_never_was_is_not_found():
    with pytest.raises(AttributeError, match="no attribute 'NormalLaw'"):
        distributions.NormalLaw  # noqa: B018


@pytest.mark.filterwarnings("ignore:.* is dpcore_accounting.* now:FutureWarning")
def test_the_page_of_before_is_imported_as_it_was():
    page = importlib.import_module("dpcore_accounting.laws")
    assert page is distributions and page.IntegerLaw is IntegerDistribution
    table = importlib.import_module("dpcore_accounting.laws.table_noise")
    assert table.TableNoise is TableNoise


@pytest.mark.parametrize("base", [AddedDeviates, NoisyMaximum])
def test_a_mechanism_that_states_a_law_draws_it(base):
    def stated(**names):
        events = {"event": lambda self, sensitivity: LaplaceDpEvent(1.0)}
        return type("Mine", (base,), {"name": "mine", "needs": "l1", **events, **names})

    with pytest.warns(FutureWarning, match="^Mine.law is Mine.distribution now; ") as warned:
        old = stated(law=GAMMA)
    assert warned[0].filename == __file__
    new, exact = stated(distribution=GAMMA), np.array([3, 9, 1])
    drawn = [kind(2.0).release(exact, ONE, SeededNoise(0)) for kind in (old, new)]
    assert old.distribution is GAMMA and np.array_equal(*drawn)


def test_a_base_states_another_distribution_than_a_class_of_before():
    class Base(AddedDeviates):
        distribution = GAMMA

    with pytest.warns(FutureWarning, match="Mine.law"):

        class Mine(Base):
            law = ContinuousDistribution((("laplace", 1.0), ("normal", 0.25)))

    assert Mine.distribution is Mine.law is not Base.distribution


def test_a_table_says_how_its_distribution_is_called():
    table = IntegerDistribution(-1, (1, 2, 1))
    with pytest.raises(InvalidInputError, match=re.escape("law= of TableNoise is distribution= ")):
        TableNoise(law=table, coordinates=1)
    with pytest.warns(FutureWarning, match="law of a table is distribution now"):
        assert TableNoise(table, 1).law is table
