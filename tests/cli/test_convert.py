"""``dpcore convert``, and a store in place of a file."""

import json
import os

import pytest


@pytest.fixture
def store(run, folder):
    done = run("convert", "rows.csv", "rows.dpcore", "--schema", "schema.toml")
    assert done.exit_code == 0, done.output
    assert done.output == "Store: rows.dpcore (readable by you only)\n"
    return "rows.dpcore"


def coefficients(path):
    model = json.loads(path.read_text())
    return model["coefficients"], model["intercept"]


def test_a_store_trains_to_the_bits_of_its_file_on_any_number_of_threads(run, store, folder):
    options = ("--seed", 1, "--quiet", "--out")
    assert not run(
        "train", "--data", "rows.csv", "--schema", "schema.toml", *options, "1"
    ).exit_code
    assert not run("train", "--data", store, "--threads", 1, *options, "2").exit_code
    assert not run("train", "--data", store, "--threads", 7, *options, "3").exit_code
    first, *others = (coefficients(folder / name) for name in "123")
    assert others == [first, first]


def test_a_store_is_tested_split_and_predicted_like_a_file(run, store, folder):
    for options in (("--test", "rows.csv"), ("--test", store), ("--test-fraction", 0.5)):
        done = run("train", "--data", store, "--json", "--quiet", "--out", "m.json", *options)
        assert done.exit_code == 0 and "test_loss" in json.loads(done.stdout)["diagnostics"]
    told = run("predict", "m.json", "--data", store)
    assert told.stdout == run("predict", "m.json", "--data", "rows.csv").stdout
    assert run("schema", store).stdout.startswith("rows = 6\ncapacity = 1000\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "rows.dpcore", "--target", "age"], "not the schema's label"),
        (["--data", "rows.dpcore", "--schema", "other.toml"], "is not that of rows.dpcore"),
        (["--data", "rows.dpcore", "--schema-from-data", "--target", "label"], "its own schema"),
        (["--data", "cut.dpcore"], "cut short or not finished"),
        (["--data", "none.dpcore"], "no such file"),
        (["--threads", "0"], "threads=0"),
    ],
)
def test_what_is_refused_before_anything_is_spent(run, store, folder, arguments, message):
    (folder / "cut.dpcore").write_bytes((folder / store).read_bytes()[:-1])
    text = (folder / "schema.toml").read_text()
    (folder / "other.toml").write_text(text.replace("upper = 100", "upper = 90"))
    done = run("train", *arguments, "--out", "m.json")
    assert done.exit_code == 2 and message in done.stderr and not done.stdout
    assert not os.path.exists("m.json")


def test_a_conversion_that_is_refused_leaves_nothing(run, folder):
    cases = [
        (["rows.csv", "rows.dpcore"], "needs a schema"),
        (["rows.csv", "rows.csv", "--schema", "schema.toml"], "is the file of SOURCE"),
        (["rows.csv", "rows.bin", "--schema", "schema.toml"], "end in .dpcore"),
        (["none.csv", "rows.dpcore", "--schema", "schema.toml"], "No such file"),
    ]
    for arguments, message in cases:
        done = run("convert", *arguments)
        assert done.exit_code == 2 and message in done.stderr, done.output
    with (folder / "rows.csv").open("a") as file:
        file.write("old,Bern,no\n")
    done = run("convert", "rows.csv", "rows.dpcore", "--schema", "schema.toml")
    assert done.exit_code == 2 and "rows.csv, line 8, column 'age'" in done.stderr
    assert sorted(os.listdir()) == ["rows.csv", "schema.toml"]
    done = run("convert", "rows.csv", "r.dpcore", "--schema", "schema.toml", "--bad-rows", "drop")
    assert done.exit_code == 0
    done = run("train", "--data", "r.dpcore", "--relation", "replace-one")
    assert done.exit_code == 2 and "replace-one" in done.stderr
