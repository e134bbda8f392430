"""Runs whose mechanism states a bound: charged, in the ledger, and in the statement."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from dpcore import load_model
from dpcore.accountants.registered import which_support
from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import RowCount, Solution, parts
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    GaussianDpEvent,
    RenyiDpEvent,
    ZcdpDpEvent,
    dataset_from_arrays,
)
from dpcore_lab.checks import make_rows

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
EVENTS = [
    ZcdpDpEvent(0.001),
    RenyiDpEvent((2.0, 8.0, 32.0), (0.002, 0.008, 0.032)),
    ApproximateDpEvent(0.02, 1e-8),
    DominatingPairDpEvent((51, 49), (49, 51)),
    ComposedDpEvent((ZcdpDpEvent(0.001), ApproximateDpEvent(0.02, 1e-8))),
]


@dataclass(frozen=True)
class Stating:
    """Noise that is of no interest here, with an event of its own."""

    stated: parts.DpEvent
    noise_multiplier: float = 1.0
    needs: ClassVar[str] = "l2"
    name: ClassVar[str] = "stating"

    def event(self, sensitivity):
        return self.stated

    def release(self, exact, sensitivity, noise):
        return np.zeros(np.shape(exact))


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Asks as often as it says that it will, and as much more as ``beyond``."""

    stated: parts.DpEvent = EVENTS[0]
    beyond: int = 0
    tells: bool = True
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "asking"
    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple] = ("fixed-schedule",)

    def schedule(self, problem, noise_multiplier):
        return {self.stated if self.tells else GaussianDpEvent(1e3): 4}

    def minimize(self, problem, session):
        for _ in range(4 + self.beyond):
            session.release(RowCount(), Stating(self.stated))
        return Solution(np.zeros(problem.n_features), "Done.")


def fitted(accountant, **asked):
    plan = make_plan(Settings(accountant=accountant, epsilon=1.0, delta=1e-6))
    rows = make_rows(40)
    return Run(
        replace(plan, optimizer=Asking(**asked)), dataset_from_arrays(rows.X, rows.y)
    ).model()


HELD = [(accountant, event) for event in EVENTS for accountant in (*which_support(event), "best")]


@pytest.mark.parametrize(
    ("accountant", "event"), HELD, ids=lambda x: x if isinstance(x, str) else type(x).__name__
)
def test_a_run_is_charged_stated_and_saved(accountant, event, tmp_path):
    model = fitted(accountant, stated=event)
    model.save(tmp_path / "m.json")
    privacy = load_model(tmp_path / "m.json").privacy
    assert privacy["private"] and privacy["releases"] == {"count": 4}
    assert 0 < privacy["spent"] <= privacy["budget"]
    assert privacy["accountant"] in which_support(event)
    assert f"{__name__}:Stating" in privacy["parts_not_from_dpcore"]
    deltas = 4e-8 if type(event) in (ApproximateDpEvent, ComposedDpEvent) else 0.0
    if privacy["accountant"] == "pure":
        assert privacy["delta"] == pytest.approx(deltas) and privacy["delta"] >= deltas
        assert (", plus at most" in privacy["sentence"]) == bool(deltas)
    else:
        assert privacy["delta"] == 1e-6


@pytest.mark.parametrize("accountant", ["zcdp", "rdp", "pure"])
def test_more_deltas_than_were_stated_are_refused(accountant):
    with pytest.raises(BudgetExceededError, match="of the delta that is kept"):
        fitted(accountant, stated=EVENTS[2], beyond=1)
    if accountant != "pure":
        with pytest.raises(UnsupportedEventError, match="opened without a part of delta"):
            fitted(accountant, stated=EVENTS[2], tells=False)


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the documents of a checkout")
def test_the_page_says_who_holds_each():
    lines = re.findall(r"^\| `(\w+)\(.*\| ([a-z, ]+) \|$", PAGE.read_text(), re.MULTILINE)
    stated = {type(event).__name__: event for event in EVENTS[:4]}
    assert {name for name, _ in lines} == {*stated}
    for name, holders in lines:
        held = [
            each.name for each in AdditiveAccountant.registered() if each.supports(stated[name])
        ]
        assert holders.split(", ") == [*held, "single"]
