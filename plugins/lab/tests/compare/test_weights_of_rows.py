"""Weights of rows in a comparison: in fits and the objective, and in no metric of test rows."""

import dataclasses
import json

import numpy as np
import pytest
from golden.command import dpcore as command

from dpcore.errors import InvalidInputError
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.runner import run
from dpcore_lab.compare.settings import Comparison

SCHEMA = """[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
label = { kind = "label", classes = ["no", "yes"] }
"""
REFERENCES = Comparison(
    (), ("rows.csv",), (1.0,), folds=2, seed=7, schema="schema.toml", references=("nonprivate",)
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    rng = np.random.default_rng(3)
    ages, labels = rng.integers(0, 100, 60), rng.choice(["no", "yes"], 60)

    def written(weights):
        rows = zip(ages, labels, weights, strict=True)
        lines = ["age,label,w", *(f"{age},{label},{w}" for age, label, w in rows)]
        (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]))
        listed = f'{SCHEMA}w = {{ kind = "drop" }}\n'
        (tmp_path / "schema.toml").write_text(listed)
        return labels

    return written


def compared(**changes):
    results = run(dataclasses.replace(REFERENCES, **changes), None)
    names = ("exact_accuracy", "exact_auc", "exact_objective")
    return [[row[name] for name in names] for row in results.rows]


def test_weights_of_one_change_nothing_and_others_do(write):
    write(np.ones(60))
    plain, weighted = compared(), compared(weight="w", weight_bound=1.0)
    assert plain == weighted
    write(np.where(np.arange(60) % 2, 3.0, 0.5))
    changed = compared(weight="w", weight_bound=5.0)
    assert compared() == plain  # left out where nobody asks for them
    assert [row[2] for row in changed] != [row[2] for row in plain]


def test_the_reference_minimises_the_weighted_objective(write):
    # Rows of one class weigh nothing, so that what is fitted predicts the other.
    labels = write(np.zeros(60))
    write((labels == "yes").astype(float))
    for accuracy, _, objective in compared(weight="w", weight_bound=1.0):
        assert objective < 1e-3 and 0.2 < accuracy < 0.8  # each test row counts once
    assert all(objective > 0.3 for _, _, objective in compared())  # the broken twin: as without


def test_the_command_says_what_weighs(write):
    write(np.ones(60))
    asked = (
        "dpcore compare --algos nonprivate --data rows.csv --schema schema.toml --folds 2 --json"
    )
    told = json.loads(command(f"{asked} --weight w --weight-bound 2").out)
    assert (told["settings"]["weight"], told["settings"]["weight_bound"]) == ("w", 2.0)
    assert "Rows weigh in fits, and in the objective of the training rows;" in told["notes"][-1]
    plain = json.loads(command(asked).out)
    assert "weight" not in plain["settings"] and "weigh" not in f"{plain['notes']}"


def test_a_weight_needs_its_bound_and_a_file(write):
    write(np.ones(60))
    named = ("nonprivate",)
    for changes in ({"weight": "w"}, {"weight_bound": 2.0}):
        with pytest.raises(InvalidInputError, match="--weight COLUMN and --weight-bound NUMBER"):
            admit(dataclasses.replace(REFERENCES, algorithms=named, **changes))
    public = {"data": ("census-sim",), "schema": None, "weight": "w", "weight_bound": 2.0}
    with pytest.raises(InvalidInputError, match="not of a registered data set"):
        admit(dataclasses.replace(REFERENCES, algorithms=named, **public))
