"""The command line: what is asked, what is printed and written, and how a failure ends."""

import json

import pytest
from typer.testing import CliRunner

from dpcore import load_model
from dpcore.cli import app

ASK = ("train", "--algo", "output-nr", "--data", "census-sim", "--l2", "0.01")


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_target_that_is_met_gives_a_model_and_two_figures(tmp_path):
    out = tmp_path / "model.json"
    target = ("--target-accuracy", 0.77, "--slack", 0.02, "--epsilon-max", 4)
    shown = run(*ASK, *target, "--out", out)
    assert shown.exit_code == 0, shown.stderr
    assert "The target was met at level" in shown.stdout
    assert "on the training rows, within 0.02" in shown.stdout
    assert "worst case agreed to beforehand: epsilon = 4." in shown.stdout
    privacy = json.loads(out.read_text())["privacy"]
    assert privacy["epsilon"] == 4.0 and 0 < privacy["ex_post_epsilon"] < 4
    assert load_model(out).privacy["ex_post_epsilon"] == privacy["ex_post_epsilon"]


def test_json_holds_both_figures_by_name():
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
        (("--epsilon", 1), "Epsilon is what output-nr puts out"),
        (("--accountant", "zcdp"), "--accountant pure only"),
        (("--relation", "add-or-remove-one"), "replace-one"),
        (("--epsilon-max", 1e-6), "Raise --epsilon-max"),
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
    assert "dp-agd takes no --target-accuracy; these do: " in shown.stderr
    assert "output-nr" in shown.stderr


def test_info_and_check_know_it():
    told = run("info", "output-nr").stdout
    assert "epsilon is an output, at most --epsilon-max; asked for by --target-accuracy" in told
    assert "epsilon is an output" not in run("info", "dp-agd").stdout
    lines = run("check", "output-doubling").stdout.splitlines()
    assert all(line.startswith("ok ") for line in lines)
