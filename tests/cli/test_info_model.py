"""``dpcore info`` of a model file: what it predicts, from which columns, and what it guarantees."""

import json
from pathlib import Path

import pytest

SCHEMA = """
rows = 6
unit = "who"
rows_per_unit = 2
[columns]
age = { kind = "numeric", lower = 0, upper = 100, fill = 40 }
day = { kind = "date", lower = 2020-01-01, upper = 2021-01-01, indicator = true }
city = { kind = "hashed", buckets = 8 }
level = { kind = "ordinal", levels = ["a", "b"] }
label = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = "who,age,day,city,level,label\n" + "u1,20,2020-02-02,x,a,no\nu2,,,y,b,yes\n" * 3


@pytest.fixture
def saved(run, folder):
    (folder / "s.toml").write_text(SCHEMA)
    (folder / "r.csv").write_text(ROWS)
    asked = ("--data", "r.csv", "--schema", "s.toml", "--set", "steps=3", "--out", "m.json")
    done = run("train", "--algo", "dp-gd", *asked)
    assert done.exit_code == 0, done.stderr
    return "m.json"


def test_a_model_is_told_with_its_sentence_and_its_columns(run, saved):
    lines = run("info", saved).stdout.splitlines()
    assert lines[0] == (
        "m.json: a model that predicts 'no' or 'yes' by logistic loss, 12 features and an "
        "intercept, fitted by dp-gd"
    )
    sentence = json.loads(Path(saved).read_text())["privacy"]["sentence"]
    assert lines[1] == f"  privacy: {sentence}" and "all rows of a value of 'who'" in sentence
    assert "  unit: 'who'" in lines
    assert lines[lines.index("columns") + 1 :] == [
        "  age: numeric in [0, 100], empty: 40",
        "  day: date in [2020-01-01, 2021-01-01], empty: a feature",
        "  city: hashed, 8 buckets",
        "  level: ordinal, 2 levels",
        "  label: label, 'no' or 'yes'",
        "  who: drop",
    ]


def test_as_json_it_is_the_file_but_for_its_checksum(run, saved):
    content = json.loads(Path(saved).read_text())
    del content["checksum"]
    assert json.loads(run("info", saved, "--json").stdout) == content


def test_a_file_that_is_no_model_is_refused(run, folder):
    (folder / "x.json").write_text("{}")
    for name in ("x.json", "none.json", "./none"):
        done = run("info", name)
        assert done.exit_code == 2 and done.stdout == "" and name in done.stderr
