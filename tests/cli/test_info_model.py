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
pay = { kind = "numeric", lower = 1, upper = 1e5, scale = "log" }
visits = { kind = "numeric", bins = [1, 5] }
dose = { kind = "numeric", knots = [0, 2.5, 50] }
day = { kind = "date", lower = 2020-01-01, upper = 2021-01-01, indicator = true, parts = ["month"] }
city = { kind = "hashed", buckets = 8 }
level = { kind = "ordinal", levels = ["a", "b"] }
label = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = "who,age,pay,visits,dose,day,city,level,label\n" + (
    "u1,20,9,1,1,2020-02-02,x,a,no\nu2,,9,1,1,,y,b,yes\n" * 3
)


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
        "m.json: a model that predicts 'no' or 'yes' by logistic loss, 31 features and an "
        "intercept, fitted by dp-gd"
    )
    sentence = json.loads(Path(saved).read_text())["privacy"]["sentence"]
    assert lines[1] == f"  privacy: {sentence}" and "all rows of a value of 'who'" in sentence
    assert "  unit: 'who'" in lines
    assert lines[lines.index("columns") + 1 :] == [
        "  age: numeric in [0, 100], empty cells count as 40",
        "  pay: numeric in [1, 100000], by its logarithm",
        "  visits: numeric, bins 1, 5",
        "  dose: numeric, knots 0, 2.5, 50",
        "  day: date in [2020-01-01, 2021-01-01], with month, empty cells have a feature",
        "  city: hashed, 8 buckets",
        "  level: ordinal, 2 levels",
        "  label: label, 'no' or 'yes'",
        "  who: ids of units, no feature",
    ]


def test_as_json_it_is_the_file_but_for_its_checksum(run, saved):
    content = json.loads(Path(saved).read_text())
    del content["checksum"]
    assert json.loads(run("info", saved, "--json").stdout) == content


def test_of_a_schema_the_command_that_takes_it_is_named(run, folder):
    for name in ("s.toml", "./none.toml"):
        done = run("info", name)
        assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
        assert (
            f"{name} is a schema, and no model: `dpcore schema --check ROWS {name}`" in done.stderr
        )


def test_a_file_that_is_no_model_is_refused(run, folder):
    (folder / "x.json").write_text("{}")
    for name in ("x.json", "none.json", "./none"):
        done = run("info", name)
        assert done.exit_code == 2 and done.stdout == "" and name in done.stderr
