"""The warning before a run whose model is not expected to do better than a constant."""

import dataclasses
import logging
import re
import warnings

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import DpcoreWarning
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.planning.utility_warning import UtilityWarning
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import ExpectedUtility
from dpcore.plugin.commands import DataRequest, Run
from dpcore.plugin.parts import dataset_from_arrays

RNG = np.random.default_rng(0)


def rows(n):
    X = RNG.random((n, 4))
    return X, np.where(X[:, 0] > 0.5, 1, -1)


def told(n, n0=None, **asked):
    """Return what is said before a fit of so many rows, with what was charged by then."""
    said, charged = [], []
    X, y = rows(n)
    data = dataset_from_arrays(X, y, classes=(-1, 1), bounds=(0, 1), n0=n0)
    plan = make_plan(Settings(**asked))
    tell = UtilityWarning(lambda sentence: said.append((sentence, len(charged))))
    Run(plan, data, on_release=charged.append, utility_warning=tell).model()
    return said, tell.failing


def test_with_a_public_number_of_rows_it_says_that_they_are_too_few():
    ((sentence, charged),), failing = told(50, n0=50, epsilon=0.1)
    assert failing and charged == 0
    assert re.search(r"about [\d,]+ rows are needed for 4 features", sentence)
    assert "public number of rows is 50." in sentence and "no guarantee" in sentence
    assert told(50, n0=10**6, epsilon=0.1) == ([], False)
    assert told(50, epsilon=0.1, relation="replace-one")[1]


def test_without_one_it_is_the_same_for_every_table():
    few, many = told(10, epsilon=0.05), told(3000, epsilon=0.05)
    assert few == many
    ((sentence, charged),), failing = few
    assert charged == 0 and not failing
    assert "are needed" in sentence and "public number" not in sentence
    assert told(10, epsilon=1.0) == ([], False)


def test_hat_functions_are_no_columns_of_whoever_reads_it():
    # It said "for 29 columns" of a table that has four.
    X, y = rows(10)
    with pytest.warns(DpcoreWarning, match=r"are needed for 4 features"):
        fit(X, y, classes=(-1, 1), bounds=(0, [1, 2, 3, 4]), row_norm=None, epsilon=0.05)


def test_a_private_number_of_rows_would_be_noticed(monkeypatch):
    def leaky(plan, problem):
        return ExpectedUtility(kept=None, rows_needed=leaky.n, error_left=0.5, spread=0.1)

    monkeypatch.setattr("dpcore.fitting.planning.planned.Plan.utility_of", leaky)
    found = []
    for leaky.n in (2000, 40_000):
        found.append(told(10, epsilon=0.05))
    assert found[0] != found[1]


def test_no_outlook_says_nothing():
    assert told(20, n0=20, algo="dp-agd", epsilon=0.1) == ([], False)
    assert told(20, n0=20, epsilon=0.1, delta=0.0) == ([], False)


def test_fit_warns_once_and_before_anything_is_spent():
    X, y = rows(50)
    words = {"classes": (-1, 1), "bounds": (0, 1), "n0": 50, "epsilon": 0.1}
    with pytest.warns(DpcoreWarning) as found:
        model = fit(X, y, **words)
    said = [str(each.message) for each in found]
    assert sum("rows" in sentence and "constant" in sentence for sentence in said) == 1
    assert found[0].filename == __file__
    assert model.details["warning"] not in said  # the report has it, nobody is told twice
    with warnings.catch_warnings():
        warnings.simplefilter("error", DpcoreWarning)
        with pytest.raises(DpcoreWarning, match="may do no better than a constant") as error:
            fit(X, y, **words)
    assert not getattr(error.value, "__notes__", [])  # which would say what was charged


def test_train_says_it_on_standard_error_before_its_report(tmp_path, caplog):
    table, schema = tmp_path / "rows.csv", tmp_path / "schema.toml"
    table.write_text("age,label\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    schema.write_text(
        'rows = 50\n[columns]\nage = { kind = "numeric", lower = 0, upper = 50 }\n'
        'label = { kind = "label", classes = [0, 1] }\n'
    )
    with caplog.at_level(logging.INFO, "dpcore"):
        training = Run.train(make_plan(Settings(epsilon=0.1)), DataRequest(str(table), schema))
    said = [record.getMessage() for record in caplog.records]
    assert sum("may do no better than a constant" in sentence for sentence in said) == 1
    assert training.was_warned and training.warnings() == []


def test_an_outlook_is_asked_with_copies(monkeypatch):
    # What it does to its copies is not what the fit goes on with.
    plan = make_plan(Settings(epsilon=1.0))
    data = dataset_from_arrays(*rows(20), classes=(-1, 1), bounds=(0, 1))
    ready = Run(plan, data).ready()

    def greedy(problem, accountant):
        object.__setattr__(problem, "row_norm", 2.0**-8)
        object.__setattr__(accountant, "budget_ticks", 10**45)

    planned = dataclasses.replace(ready.plan, expected_utility=greedy)
    norm, accountant = ready.problem.row_norm, repr(planned.accountant)
    assert planned.utility_of(ready.problem) is None
    assert ready.problem.row_norm == norm and repr(planned.accountant) == accountant


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2757, 2800), (0.1811, 0.19), (100, 100), (1, 1), (99.5, 100), (0.02, 0.02)],
)
def test_two_digits_are_rounded_up(value, shown):
    assert ExpectedUtility.rounded(value) == pytest.approx(shown)
