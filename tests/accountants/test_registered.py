"""Accountants are found through the registry: a plugin's is treated as the core's are."""

import sys
import types
from dataclasses import dataclass
from importlib import metadata
from typing import ClassVar

import pytest

from dpcore.accountants import GdpAccountant, ZcdpAccountant, registered
from dpcore.accountants.registered import registered_accountants, target_of, which_support
from dpcore.plugin import NeighboringRelation, hookimpl
from dpcore.plugin.parts import GaussianDpEvent, LaplaceDpEvent, Registry
from dpcore.registry.catalogue import GROUP
from dpcore_accounting.best import BestAccountant
from dpcore_accounting.commands.account import describe_budget, describe_schedule


@dataclass(frozen=True, kw_only=True)
class Generous(GdpAccountant):
    """Broken on purpose: costs a quarter, so that any schedule takes the least noise under it."""

    name: ClassVar[str] = "generous"

    def _leaf_cost(self, event):
        return super()._leaf_cost(event) / 4


@dataclass(frozen=True, kw_only=True)
class Once(Generous):
    name: ClassVar[str] = "once"
    holds_several: ClassVar[bool] = False


class Least:
    """An accountant with what has to be stated, and nothing else."""

    name = "least"
    unit = "rho"
    fully_adaptive = True

    def __init__(self, inner):
        self._inner = inner
        self.epsilon, self.delta, self.conversion = inner.epsilon, inner.delta, inner.conversion
        self.budget, self.spent, self.remaining = inner.budget, inner.spent, inner.remaining

    @classmethod
    def from_budget(cls, epsilon, delta, conversion=None):
        return cls(ZcdpAccountant.from_budget(epsilon, delta, conversion))

    @classmethod
    def supports(cls, event):
        return ZcdpAccountant.supports(event)

    def cost(self, event):
        return self._inner.cost(event)

    def compose(self, event):
        return Least(self._inner.compose(event))

    def get_epsilon(self, delta):
        return self._inner.get_epsilon(delta)


@hookimpl
def register_accountants(register):
    register("generous", "a_plugin:Generous", summary="A quarter of the cost.")
    register("once", "a_plugin:Once", summary="One release at most.")
    register("absent", "no_such_module:Absent", summary="It cannot be loaded.")


@pytest.fixture
def plugin(monkeypatch):
    module = types.ModuleType("a_plugin")
    module.register_accountants = register_accountants
    module.Generous, module.Once = Generous, Once
    monkeypatch.setitem(sys.modules, "a_plugin", module)
    points = [*metadata.entry_points(group=GROUP), metadata.EntryPoint("z", "a_plugin", GROUP)]
    registry = Registry.of(points)
    monkeypatch.setattr(registered, "load_registry", lambda kind=None: registry)
    monkeypatch.setattr(
        "dpcore_accounting.commands.account.load_registry", lambda kind=None: registry
    )


@pytest.mark.parametrize("planned", [{}, {"planned": None, "holds": None, "conversions": ()}])
def test_an_accountant_with_nothing_but_what_it_has_to_state_is_one_of_them(monkeypatch, planned):
    least = type("Least", (Least,), planned)
    monkeypatch.setattr(
        registered, "_loaded", lambda: [("dpcore", ZcdpAccountant), ("acme", least)]
    )
    monkeypatch.setattr("dpcore_accounting.commands.account.distribution_of", lambda name: "others")
    own, theirs = (
        [row for row in describe_budget(1.0, 1e-6) if row["accountant"] == name][0]
        for name in ("zcdp", "least")
    )
    assert theirs == {**own, "accountant": "least", "conversion": None}
    rows = describe_schedule(1.0, 1e-6, 20, 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert [row["accountant"] for row in rows] == ["zcdp", "least"]
    assert rows[0]["noise_multiplier"] == pytest.approx(rows[1]["noise_multiplier"], rel=1e-6)
    best = BestAccountant.planned(1.0, 1e-6, lambda m: {GaussianDpEvent(m): 20})
    assert best.name in ("zcdp", "least")


def names():
    return [accountant.name for accountant in registered_accountants()]


def test_the_fully_adaptive_come_first_and_those_of_one_release_are_left_out():
    found = names()
    adaptive = [each.name for each in registered_accountants() if each.fully_adaptive]
    assert found[: len(adaptive)] == adaptive == ["zcdp", "gdp", "rdp", "pure", "basic"]
    assert "advanced-composition" in found and not {"single", "best", "none"} & {*found}


def test_a_plugins_accountant_is_one_of_them_and_a_broken_one_is_passed_over(plugin):
    assert names()[:5] == ["zcdp", "gdp", "rdp", "generous", "pure"]
    assert not {"once", "absent"} & {*names()}
    assert which_support(GaussianDpEvent(1.0)) == ["zcdp", "gdp", "rdp", "generous"]
    assert which_support(LaplaceDpEvent(1.0))[:5] == ["zcdp", "gdp", "rdp", "generous", "pure"]
    assert "generous" in {row["accountant"] for row in describe_budget(1.0, 1e-6)}


def test_the_best_may_be_a_plugins_and_is_named_by_what_was_registered(plugin, monkeypatch):
    def schedule(multiplier):
        return {GaussianDpEvent(multiplier): 10}

    chosen = BestAccountant.planned(1.0, 1e-6, schedule)
    assert type(chosen) is Generous
    monkeypatch.setattr(Generous, "__module__", "dpcore.accountants.gdp")  # borrowed
    assert target_of(chosen) == ("a_plugin:Generous",)
    assert target_of(object()) == ()
