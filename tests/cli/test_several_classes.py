"""The command line over a table of three classes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_words import overridden

from dpcore.plugin.commands import print_lines
from dpcore_lab.compare.results import read_results
from dpcore_tables.files import FILES

SCHEMA = """
rows = 90
[columns]
x = { kind = "numeric", lower = 0, upper = 1 }
z = { kind = "numeric", lower = 0, upper = 1 }
y = { kind = "label", classes = ["a", "b", ["c", "c2"]] }
"""


@pytest.fixture
def table(folder):
    """A working directory with ``three.csv`` and its schema."""
    rng = np.random.default_rng(6)
    place = rng.integers(0, 3, 90)
    X = np.array([[0.1, 0.1], [0.9, 0.1], [0.2, 0.9]])[place] + rng.uniform(0, 0.1, (90, 2))
    lines = [f"{x:.3f},{z:.3f},{'abc'[k]}" for (x, z), k in zip(X, place, strict=True)]
    (folder / "three.csv").write_text("\n".join(["x,z,y", *lines]) + "\n")
    (folder / "three.toml").write_text(SCHEMA)
    return folder


@pytest.fixture
def fitted(run, table):
    """Fit the table exactly, which takes no time; further arguments override."""
    words = "--algo nonprivate --data three.csv --schema three.toml --l2 .001 --out m.json".split()
    return lambda *more: run("train", *overridden(words, more))


@pytest.mark.slow
def test_a_model_is_trained_shown_and_predicts_by_name(fitted, run):
    done = fitted("--test", "three.csv")
    assert done.exit_code == 0, done.stderr
    assert "softmax loss" in done.stdout and "test macro f1 1.0000" in done.stdout
    assert "WITHOUT privacy:\n  class a: predicted " in done.stdout
    shown = run("info", "m.json").stdout
    assert "'a', 'b' or 'c' by softmax loss" in shown and "coefficients: 9" in shown
    assert "y: label, 'a', 'b' or ['c', 'c2']" in shown
    done = run("predict", "m.json", "--data", "three.csv", "--keep", "x")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    names = ["probability_a", "probability_b", "probability_c"]
    assert [*rows[0]] == ["x", *names, "label"] and len(rows) == 90
    truth = [line.split(",")[2] for line in Path("three.csv").read_text().splitlines()[1:]]
    assert [row["label"] for row in rows] == truth
    for row in rows:
        chances = [float(row[name]) for name in names]
        assert sum(chances) == pytest.approx(1.0) and "abc"[np.argmax(chances)] == row["label"]


def test_a_row_without_a_score_has_its_line(fitted, run, table):
    fitted("--quiet")
    (table / "new.csv").write_text("x,z\n.1,.1\n,.5\n.9,.1\n")
    done = run("predict", "m.json", "--data", "new.csv")
    lines = done.stdout.splitlines()
    assert lines[2] == ",,," and lines[1].endswith(",a") and lines[3].endswith(",b")
    assert "1 of 3 rows has no score" in done.stderr


def test_weights_of_classes_are_taken_shown_and_kept(fitted, run):
    done = fitted("--class-weight", "a=2,c2=3.5")
    assert done.exit_code == 0, done.stderr
    words = "softmax (class weights a: 2, b: 1, c: 3.5) loss"
    assert words in done.stdout and words in run("info", "m.json").stdout
    told = {
        "d=2": "The label 'y' has no class 'd'.",
        "a=0": "Expected the weight '0' of the class 'a' to be a number from 2^-20 to 2^20.",
        "even": "Expected --class-weight balanced, or CLASS=NUMBER once for each class",
        "balanced": "nonprivate cannot leave a share of the budget to their release",
    }
    for given, message in told.items():
        done = fitted("--class-weight", given)
        assert done.exit_code != 0 and message in done.stderr and done.stderr.count("\n") <= 2
    balanced = fitted("--algo", "dp-gd", "--set", "steps=3", "--class-weight", "balanced", "--json")
    assert json.loads(balanced.stdout)["balanced"] == {"share": 0.05}


def test_json_has_the_metrics_by_name(fitted):
    report = json.loads(fitted("--test", "three.csv", "--json").stdout)
    metrics = report["diagnostics"]
    assert report["loss"] == "softmax" and metrics["test_macro_f1"] == 1.0
    said = {name: [*counts] for name, counts in metrics["test_confusion"].items()}
    assert said == {name: [name] for name in "abc"}


def test_the_loss_follows_from_a_store_and_from_the_rows_too(fitted, run, table):
    done = run("convert", "three.csv", "three.dpcore", "--schema", "three.toml")
    assert done.exit_code == 0, done.stderr
    words = "--algo", "nonprivate", "--json"
    stored = run("train", *words, "--data", "three.dpcore")
    assert json.loads(stored.stdout)["loss"] == "softmax"
    off = run("train", *words, "--data", "three.csv", "--schema-from-data", "--target", "y")
    assert json.loads(off.stdout)["loss"] == "softmax" and off.stderr.count("read off") <= 1
    two = SCHEMA.replace('["a", "b", ["c", "c2"]]', '["a", ["b", "c"]]')
    (table / "two.toml").write_text(two)
    both = run("train", *words, "--data", "three.csv", "--schema", "two.toml")
    assert json.loads(both.stdout)["loss"] == "logistic"


def test_one_against_the_rest_by_an_algorithm_of_two_classes(fitted, run):
    ovr = "--multiclass", "ovr", "--algo", "outpert", "--epsilon", "50", "--loss", "huber-svm"
    done = fitted("--test", "three.csv", *ovr)
    assert done.exit_code == 0, done.stderr
    assert "three.csv, each class against the rest: huber-svm" in done.stdout
    assert "It is of 3 fits, one for each class against the rest" in done.stdout
    assert "released: minimizer (3 times)." in done.stdout and "test macro f1" in done.stdout
    shown = run("info", "m.json").stdout
    assert "fitted by outpert, each class against the rest" in shown
    assert "status: 3 fits, one for each class against the rest" in shown
    head = run("predict", "m.json", "--data", "three.csv").stdout.splitlines()[0]
    assert head == "ovr_margin_a,ovr_margin_b,ovr_margin_c,label"


def test_its_probabilities_are_labelled_and_add_up(fitted, run):
    report = json.loads(fitted("--multiclass", "ovr", "--json").stdout)
    assert (report["loss"], report["multiclass"]) == ("logistic", "ovr")
    done = run("predict", "m.json", "--data", "three.csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    names = ["ovr_probability_a", "ovr_probability_b", "ovr_probability_c"]
    assert [*rows[0]] == [*names, "label"]
    for row in rows:
        assert sum(float(row[name]) for name in names) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (("--loss", "logistic"), "does not fit a label with 3 classes; use --loss softmax"),
        (("--loss", "huber-svm"), "does not fit a label with 3 classes; use --loss softmax"),
        (("--algo", "objpert"), "objpert is for two classes, and the label has 3"),
        (("--algo", "objpert"), "or --multiclass ovr (multiclass='ovr'): a fit of each"),
        (("--multiclass", "ovo"), "Expected multiclass='ovo' to be ovr"),
        (("--multiclass", "ovr", "--loss", "softmax"), "and the loss softmax takes all of them"),
        (("--algo", "stub"), "stub is for two classes, and the label has 3"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(fitted, charged, changes, told):
    done = fitted(*changes)
    assert done.exit_code == 2 and done.stdout == ""
    assert told in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_comparison_of_several_classes(run, table):
    words = "--data", "three.csv", "--schema", "three.toml", "--folds", "3", "--seed", "1"
    done = run("compare", "--algos", "nonprivate,majority", *words, "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    rows = {mean["algorithm"]: mean["mean"] for mean in report["means"]}
    assert rows["nonprivate"] == 100.0 and rows["majority"] < 50.0
    macro = {mean["algorithm"]: mean["mean"] for mean in report["means_of_macro_f1"]}
    assert macro["nonprivate"] == 100.0 and macro["majority"] < 25.0
    areas = {mean["algorithm"]: mean["mean"] for mean in report["means_of_auc"]}
    assert areas == {"nonprivate": 1.0, "majority": 0.5}
    refused = run("compare", "--algos", "majority", *words, "--loss", "logistic")
    assert refused.exit_code == 2 and "use --loss softmax" in refused.stderr
    unfit = run("compare", "--algos", "objpert", *words, "--epsilon", "8")
    assert unfit.exit_code == 2 and "objpert is for two classes, and the label has" in unfit.stderr


@pytest.mark.slow
def test_a_comparison_of_fits_against_the_rest(run, table):
    words = "--data", "three.csv", "--schema", "three.toml", "--folds", "2", "--seed", "1"
    asked = *words, "--algos", "outpert", "--epsilon", "40", "--multiclass", "ovr"
    done = run("compare", *asked, "--out", "r.parquet")
    assert done.exit_code == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "three.csv: macro F1 of the test rows in %" in shown
    assert "three.csv: area under the ROC curve (AUC) of the test rows" in shown
    assert "logistic, each class against the rest, 2 folds" in shown
    rows = read_results("r.parquet").rows
    exact = [row for row in rows if row["algorithm"] == "nonprivate"]
    assert all(row["exact_accuracy"] == row["exact_macro_f1"] == 1.0 for row in exact)
    fits = [row for row in rows if row["algorithm"] == "outpert"]
    assert all(json.loads(row["releases"]) == {"minimizer": 3} for row in fits)
    least = {row["fold"]: row["exact_objective"] for row in exact}
    assert all(row["exact_objective"] > least[row["fold"]] > 0 for row in fits)
    other = run("compare", *asked[:-2], "--loss", "softmax", "--out", "r.parquet")
    assert other.exit_code == 2
    drawn = run("plot", "r.parquet", "--y", "macro_f1")
    assert drawn.exit_code == 0 and "accuracy in %" not in drawn.stdout


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ({"classes": ["a", "b"], "other": "rest"}, "'a' or 'b', any other value 'rest'"),
        ({"classes": ["a", [*"bcdef"], "g"]}, "'a', 'b' (5 values) or 'g'"),
        ({"positive": ["a"], "other": "no"}, "['a'] or another, named 'no'"),
        ({"positive": ["a"]}, "['a'] or another"),
    ],
)
def test_classes_in_words(label, told, capsys):
    print_lines(*FILES.schema_lines({"columns": [{"name": "y", "kind": "label", **label}]}))
    assert capsys.readouterr().out == f"columns\n  y: label, {told}\n"
