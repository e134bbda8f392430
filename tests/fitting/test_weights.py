"""Weights of classes and rows: by a package, whose absence is told before a run."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import Weights, fit
from dpcore.errors import InvalidInputError, RegistryError
from dpcore.fitting.steps.weights import require_bound
from dpcore.plugin import Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import load_registry
from dpcore.registry.step_class import foreign_step

X, Y = np.array([[0.0], [1.0]] * 50), np.array([0, 1] * 50)
PUBLIC = {"classes": (0, 1), "bounds": (0, 1), "algo": "dp-gd"}


@pytest.mark.parametrize(
    "weights",
    [{"class_weight": {1: 2.0}}, {"sample_weight": Weights(np.ones(100), bound=2.0)}],
)
def test_without_the_package_weights_say_what_to_install_and_other_fits_need_none(
    weights, monkeypatch
):
    none = type(load_registry())(())
    monkeypatch.setattr("dpcore.registry.step_class.load_registry", lambda kind: none)
    with pytest.raises(
        RegistryError, match=r"^No package weighs .* is in dpcore-tables: pip install .*\.$"
    ):
        fit(X, Y, **PUBLIC, **weights)
    assert fit(X, Y, **PUBLIC).class_weights == {}


def test_weights_by_a_step_of_somebody_else_name_it(monkeypatch):
    own = load_registry().load("step", "balanced")

    class Balanced:
        weights = staticmethod(own.weights)

    plan = make_plan(Settings(loss="logistic", algo="dp-gd"))
    assert plan.with_weights((1.0, 2.0)).targets == plan.targets
    monkeypatch.setattr(type(load_registry()), "load", lambda self, kind, name: Balanced)
    (part,) = {*plan.with_weights((1.0, 2.0)).targets} - {*plan.targets}
    assert part.endswith(":test_weights_by_a_step_of_somebody_else_name_it.<locals>.Balanced")


@pytest.mark.parametrize("name", ["balanced", "evaluation"])
def test_a_step_that_bears_the_name_of_ours_is_named_as_it_is_registered(name, monkeypatch):
    known = load_registry("step")
    own = known.load("step", name)
    borrowed = type(own.__name__, (own,), {"__module__": own.__module__})
    monkeypatch.setitem(globals(), "BORROWED", borrowed)
    entry = replace(known.get("step", name), target=f"{__name__}:BORROWED", distribution="acme")
    registry = type(known)([entry])
    assert foreign_step(name) == ()
    monkeypatch.setattr("dpcore.registry.step_class.load_registry", lambda kind: registry)
    assert set(foreign_step(name)) == {
        f"?{own.__module__}:{own.__qualname__}",
        f"{__name__}:BORROWED",
    }


def test_weights_without_a_bound_are_refused_whatever_weighs(monkeypatch):
    # A package that lets them pass would see the rows, and no statement would name it.
    weights = SimpleNamespace(require_bound=lambda *asked: None)
    monkeypatch.setattr("dpcore.fitting.steps.weights.weighing", lambda: weights)
    for asked in ((np.ones(100), None), (None, 2.0)):
        with pytest.raises(InvalidInputError, match="sample_weight and weight_bound"):
            require_bound(X, *asked)
    require_bound(X, np.ones(100), 2.0)
