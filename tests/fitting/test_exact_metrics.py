"""Exact metrics of rows to test on: by a package, whose absence is told before the run."""

import pytest

from dpcore.errors import RegistryError
from dpcore.fitting.steps import held_out_rows
from dpcore.fitting.steps.held_out_rows import foreign_metrics
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import load_registry


def test_without_the_package_a_test_says_what_to_install_before_the_run(monkeypatch):
    """Nothing is read: the files are not there. Generated rows are fitted, without a metric."""
    none = type(load_registry())(())
    monkeypatch.setattr("dpcore.registry.step_class.load_registry", lambda kind: none)
    plan = make_plan(Settings(loss="logistic", algo="dp-agd"))
    for asked in ({"test": "no.csv"}, {"test_fraction": 0.2}):
        with pytest.raises(
            RegistryError, match=r"rows to test on. .* is in dpcore-report: pip install .*\.$"
        ):
            Run.train(plan, DataRequest("none.csv", **asked))
    assert held_out_rows.exact_metrics_if_there() is None


def test_metrics_by_a_step_of_somebody_else_name_it(monkeypatch):
    class Evaluation:
        exact_metrics = exact_accuracy = exact_in_words = staticmethod(dict)

    monkeypatch.setattr(type(load_registry()), "load", lambda self, kind, name: Evaluation)
    (told,) = foreign_metrics(held_out_rows.exact_metrics())
    assert told.endswith(":test_metrics_by_a_step_of_somebody_else_name_it.<locals>.Evaluation")
    del Evaluation.exact_accuracy
    with pytest.raises(RegistryError, match="has no exact_accuracy"):
        held_out_rows.exact_metrics()
