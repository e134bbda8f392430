"""The main job as a user starts it: a process of its own, embedded data, no network."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from dpcore import fit

pytestmark = pytest.mark.slow


def dpcore(*arguments):
    command = [sys.executable, "-W", "error", "-m", "dpcore", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_train_and_predict_on_the_embedded_data(tmp_path):
    out = str(tmp_path / "model.json")
    arguments = ("--algo", "dp-agd", "--test-fraction", "0.2", "--out", out, "--json")
    report = json.loads(dpcore("train", *arguments))
    assert report["private"] is True and report["data"] == "census-sim"
    assert report["spent"] <= report["budget"]
    # The rule is planted: a model that ignores the rows has the accuracy of the majority, .76.
    assert report["diagnostics"]["test_accuracy"] > 0.79
    (tmp_path / "rows.csv").write_text("age\n30\n")
    done = subprocess.run(
        [sys.executable, "-m", "dpcore", "predict", out, "--data", str(tmp_path / "rows.csv")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@pytest.mark.data
@pytest.mark.skipif("DPCORE_DATA_DIR" not in os.environ, reason="needs the data sets")
def test_train_on_adult():
    arguments = ("--data", "adult", "--epsilon", "0.4", "--test-fraction", "0.2", "--json")
    report = json.loads(dpcore("train", *arguments))
    assert report["n_features"] == 156 and report["private"] is True
    assert report["diagnostics"]["test_accuracy"] > 0.80


def test_the_ten_first_lines_say_what_how_and_how_private(run, folder):
    shown = run("train", "--algo", "dp-agd", "--data", "rows.csv", "--schema", "schema.toml").stdout
    head = "\n".join(shown.splitlines()[:10])
    for text in (
        "Fitted dp-agd on rows.csv",
        "The coefficients have norm",
        "gradient",
        "--test-fraction",
    ):
        assert text in head
    assert "(1, 1e-08)-differentially private under add-or-remove-one of a row" in head


def test_the_answers_of_a_baseline_are_called_exact(run, folder):
    rows = ("--data", "rows.csv", "--schema", "schema.toml")
    assert "\nExact answers released: " in run("train", "--algo", "majority", *rows).stdout
    assert "\nNoisy answers released: " in run("train", "--algo", "dp-agd", *rows).stdout


def test_a_hundred_thousand_columns_are_legal(run):
    X = sparse.random(50, 100_000, density=1e-3, format="csr", random_state=1)
    y = np.arange(50) % 2
    model = fit(X, y, classes=(0, 1), epsilon=1.0, params={"steps": 2})
    assert model.coef.shape == (100_000,) and model.privacy["private"]
