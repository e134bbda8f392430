"""What was written by the names of before still runs, with a warning that has the new one."""

import importlib

import pytest

from dpcore import Evaluation
from dpcore_report.evaluation.table import Metrics


def test_exact_metrics_have_their_old_name_for_a_version(monkeypatch):
    monkeypatch.setattr(Evaluation, "exact_metrics", staticmethod(lambda *given: {"given": given}))
    told = "^Evaluation.exact_figures is Evaluation.exact_metrics now; "
    with pytest.warns(FutureWarning, match=told) as warned:
        assert Evaluation.exact_figures(1, 2, 3, 4) == {"given": (1, 2, 3, 4)}
    assert warned[0].filename == __file__


def test_the_class_of_metrics_has_its_old_name_for_a_version():
    table = importlib.import_module("dpcore_report.evaluation.table")
    told = r"^dpcore_report.evaluation.table.Figures is dpcore_report.evaluation.table.Metrics now"
    with pytest.warns(FutureWarning, match=told) as warned:
        assert table.Figures is Metrics
    assert warned[0].filename == __file__
    assert not hasattr(table, "Numbers")
