"""The command line: what is asked, what is printed and written, and how a failure ends."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import fit, load_model
from dpcore.cli import app
from dpcore.errors import InvalidInputError

ASK = ("train", "--algo", "output-nr", "--data", "census-sim", "--l2", "0.01")


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


MET = ("--target-accuracy", 0.77, "--slack", 0.02, "--epsilon-max", 4)


def test_a_target_that_is_met_gives_a_model_and_two_epsilons(tmp_path):
    out = tmp_path / "model.json"
    target = ("--target-accuracy", 0.77, "--slack", 0.02, "--epsilon-max", 4)
    shown = run(*ASK, *target, "--out", out)
    assert shown.exit_code == 0, shown.stderr
    assert "The target was met at level" in shown.stdout
    assert "accuracy of at least 0.75 on the training rows (the target of 0.77" in shown.stdout
    assert "except with probability 0.1." in shown.stdout
    assert "Ex-post epsilon of this outcome: " in shown.stdout
    assert "worst case agreed to beforehand is epsilon = 4." in shown.stdout
    privacy = json.loads(out.read_text())["privacy"]
    assert privacy["epsilon"] == 4.0 and 0 < privacy["ex_post_epsilon"] < 4
    assert load_model(out).privacy["ex_post_epsilon"] == privacy["ex_post_epsilon"]


@pytest.mark.slow
@pytest.mark.parametrize("algo", ["output-nr", "output-doubling"])
def test_a_target_on_the_excess_risk_says_how_likely_it_is_missed(algo):
    asked = ("--target-excess-risk", 0.5, "--failure-probability", 0.05, "--epsilon-max", 50)
    shown = run("train", "--algo", algo, "--l2", "0.01", *asked)
    told = "excess risk of at most 0.5 on the training rows, except with probability 0.05."
    assert told in shown.stdout


THEORY = ("train", "--algo", "output-theory", "--target-excess-risk", 0.5, "--epsilon-max")


def test_an_epsilon_known_beforehand_is_the_guarantee_and_no_worst_case_is_shown():
    report = json.loads(run(*THEORY, 50, "--json").stdout)
    epsilon = report["epsilon"]
    assert 1 < epsilon < 50 and report["ex_post_epsilon"] is None
    assert report["spent"] == report["budget"] == epsilon
    assert f"({epsilon!r}, 0)-differentially private" in report["sentence"]
    assert "worst case" not in report["sentence"] and "50" not in report["sentence"].split("In")[0]
    refused = run(*THEORY, 2)
    assert refused.exit_code == 2
    assert f"output-theory needs epsilon={epsilon!r} for its target, and the worst case is 2" in (
        refused.stderr
    )
    # Held to it: exactly that much, agreed to, is enough.
    assert json.loads(run(*THEORY, repr(epsilon), "--json").stdout)["epsilon"] == epsilon
    assert "a function of public facts that the filter enforces" in run("info", THEORY[2]).stdout


def test_json_holds_both_epsilons_by_name():
    shown = run(*ASK, "--target-accuracy", 0.77, "--slack", 0.02, "--json")
    report = json.loads(shown.stdout)
    assert (report["epsilon"], report["delta"]) == (5.0, 0.0)
    assert report["ex_post_epsilon"] < report["epsilon"] == report["budget"]
    assert report["details"]["target_met"] is True
    assert report["neighboring_relation"] == "replace-one"


def test_a_target_that_is_not_met_leaves_no_file_and_says_what_was_charged(tmp_path):
    out = tmp_path / "model.json"
    missed = ("--target-accuracy", 1.0, "--slack", 0.01, "--epsilon-max", 2, "--out", out)
    shown = run(*ASK, *missed)
    assert shown.exit_code == 3 and not out.exists() and shown.stdout == ""
    assert "NOT met at any of 50 levels: no model" in shown.stderr
    assert "Charged, and spent: 1.99999999" in shown.stderr
    shown = run(*ASK, *missed, "--json")
    report = json.loads(shown.stdout)
    assert shown.exit_code == 3 and not out.exists()
    assert report["model"] is None and report["details"]["target_met"] is False
    assert report["ex_post_epsilon"] == report["spent"] == pytest.approx(2.0, rel=1e-6)
    assert report["sentence"].startswith("What came out of this run")


def test_the_last_level_is_given_when_it_is_asked_for(tmp_path):
    out = tmp_path / "model.json"
    missed = ("--target-accuracy", 1.0, "--slack", 0.01, "--epsilon-max", 2, "--out", out)
    shown = run(*ASK, *missed, "--release-last")
    assert shown.exit_code == 0 and out.exists()
    assert "NOT met" in shown.stdout and "warning: the target was not met" in shown.stderr
    assert load_model(out).details["target_met"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", 1), "output-nr takes a target, and its epsilon is a result"),
        (("--accountant", "zcdp"), "--accountant pure only"),
        (("--relation", "add-or-remove-one", "--set", "ball=paper"), "are for replace-one"),
        (("--epsilon-max", 1e-6), "or --epsilon-max 0.0956"),
        (("--set", "levels=0"), "levels"),
        (("--set", "threshold=hope"), "exact or paper"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, message):
    shown = run(*ASK, "--target-accuracy", 0.77, "--slack", 0.02, *arguments)
    assert shown.exit_code == 2 and message in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_an_algorithm_without_targets_says_which_have_them():
    shown = run("train", "--algo", "dp-agd", "--target-accuracy", 0.8)
    assert shown.exit_code == 2
    assert "dp-agd takes no --target-accuracy (of targets=); these do: " in shown.stderr
    assert "output-nr" in shown.stderr


@pytest.mark.slow
def test_info_and_check_know_it():
    told = run("info", "output-nr").stdout
    assert (
        "epsilon is an output, at most --epsilon-max; the target is set by --target-accuracy"
        in told
    )
    assert "under zcdp or gdp each release is charged as made" in run("info", "output-bnr").stdout
    assert "epsilon is an output" not in run("info", "dp-agd").stdout
    checked = run("check", "cov-doubling")
    assert checked.exit_code == 0 and "FAILED" not in checked.stdout
    assert checked.stdout.startswith("ok ")


def test_without_l2_it_takes_one_of_its_own_and_says_so():
    shown = run(*ASK[: ASK.index("--l2")], *ASK[ASK.index("--l2") + 2 :], *MET, "--json")
    assert shown.exit_code == 0, shown.stderr
    assert json.loads(shown.stdout)["l2"] > 0


def test_a_seeded_run_says_that_its_values_are_void():
    shown = run(*ASK, *MET, "--seed", 1)
    assert "Ex-post epsilon of this outcome (void: this run is NOT private)" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--slack", 0.9), "any model has an accuracy of 0 or more"),
        (("--slack", 0.02, "--delta", 1e-6), "Leave it away"),
    ],
)
def test_what_would_mean_nothing_is_refused(options, message):
    shown = run(*ASK, "--target-accuracy", 0.77, *options)
    assert shown.exit_code == 2 and message in shown.stderr


def test_targets_in_python_are_told_by_name():
    X, y = np.ones((20, 2)), np.resize([-1, 1], 20)
    for targets, message in (
        (3, "a mapping"),
        ({"accuracy": 0.8}, "There is no target 'accuracy'"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            fit(X, y, algo="output-nr", targets=targets)
    with pytest.raises(InvalidInputError, match="costs epsilon"):
        fit(X, y, algo="output-nr", targets={"target-accuracy": 0.8, "slack": 0.1})
