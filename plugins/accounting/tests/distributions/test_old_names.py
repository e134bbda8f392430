"""What was written by the names of before still loads, with a warning, or is told the new one."""

import importlib
import re
from dataclasses import dataclass

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
    for name, new in (("integer", IntegerDistribution), ("continuous", ContinuousDistribution)):
        module = importlib.import_module(f"dpcore_accounting.laws.{name}_law")
        assert getattr(module, f"{name.capitalize()}Law") is new
        assert not hasattr(module, "Law")


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


@pytest.mark.parametrize("base", [AddedDeviates, NoisyMaximum])
def test_noise_scaled_by_a_method_of_the_old_name_is_refused(base):
    class Wider(base):
        name, needs, distribution = "wider", "l1", GAMMA

        def figure(self, sensitivity):
            return 2 * sensitivity.bound

    with pytest.raises(InvalidInputError, match="Wider.figure is bound_of now"):
        Wider(2.0).release(np.array([3, 9, 1]), ONE, SeededNoise(0))


WIDE = ContinuousDistribution((("laplace", 8.0), ("normal", 0.25)))


class Stated:
    law = WIDE


@pytest.mark.filterwarnings("ignore:.*law is .*distribution now:FutureWarning")
@pytest.mark.parametrize("base", [AddedDeviates, NoisyMaximum])
@pytest.mark.parametrize("name", ["law", "distribution"])
def test_a_law_that_was_found_before_a_base_is_drawn(base, name):
    Base = type("Base", (base,), {name: GAMMA})
    assert type("Mine", (Stated, Base), {})(2.0).distribution is WIDE
    Mine = type("Mine", (Base,), {})
    Mine.law = WIDE
    assert Mine(2.0).distribution is WIDE
    # What states the new name, before a base of the old one, is drawn too.
    assert type("New", (Mine,), {"distribution": GAMMA})(2.0).distribution is GAMMA


@pytest.mark.filterwarnings("ignore:.*law is .*distribution now:FutureWarning")
@pytest.mark.parametrize("base", [AddedDeviates, NoisyMaximum])
def test_a_law_and_another_distribution_are_refused(base):
    told = "Mine states a law and another distribution"
    assert type("Mine", (base,), {"law": GAMMA, "distribution": GAMMA})(2.0).distribution is GAMMA
    with pytest.raises(InvalidInputError, match=told):
        type("Mine", (base,), {"law": WIDE, "distribution": GAMMA})
    Mine = type("Mine", (base,), {"law": GAMMA})
    Mine.law = WIDE
    with pytest.raises(InvalidInputError, match=told):
        Mine(2.0)


@pytest.mark.filterwarnings("ignore:.*law is .*distribution now:FutureWarning")
@pytest.mark.parametrize("base", [AddedDeviates, NoisyMaximum])
def test_a_law_of_an_object_that_is_not_its_class_is_refused(base):
    @dataclass(frozen=True)
    class Mine(base):
        law: ContinuousDistribution = GAMMA

    assert Mine(2.0).distribution is GAMMA
    with pytest.raises(InvalidInputError, match="Mine states a law and another distribution"):
        Mine(2.0, WIDE)


def test_a_table_says_how_its_distribution_is_called():
    table = IntegerDistribution(-1, (1, 2, 1))
    with pytest.raises(InvalidInputError, match=re.escape("law= of TableNoise is distribution= ")):
        TableNoise(law=table, coordinates=1)
    with pytest.warns(FutureWarning, match="law of a table is distribution now"):
        assert TableNoise(table, 1).law is table
