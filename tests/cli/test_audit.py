"""``dpcore audit``."""

import json
import re

import pytest
from typer.testing import CliRunner

from dpcore.cli import app


def audit(*words):
    return CliRunner().invoke(app, ["audit", *words])


@pytest.mark.slow
def test_a_consistent_audit_says_so():
    found = audit("outpert", "--epsilon", "4", "--runs", "40", "--seed", "1")
    assert found.exit_code == 0, found.output
    last = found.output.splitlines()[-1]
    assert re.fullmatch(
        r"consistent: with 95 % confidence, epsilon is at least [0-9.]+; the claim is 4", last
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["output-doubling", "output-bnr"])
def test_a_claim_is_pure_or_has_the_delta_that_was_asked_for(name):
    few = ("--set", "levels=3") if name == "output-bnr" else ("--rows", "101")
    words = (*few, "--epsilon", "40", "--delta", "1e-6", "--runs", "2", "--seed", "1", "--json")
    found = audit(name, *words)
    assert found.exit_code == 0, found.output
    told = json.loads(found.output)
    assert told["delta"] == (1e-6 if name == "output-bnr" else 0.0)
    assert "the claimed epsilon" in told["power"] or "so few runs" in told["power"]


def test_each_release_is_told():
    words = ("dp-gd", "--method", "releases", "--runs", "400", "--seed", "1", "--json")
    found = audit(*words)
    told = json.loads(found.output)
    assert [row["release"] for row in told["releases"]] == [
        "moments by Gaussian",
        "first gradient by Gaussian",
        "last gradient by Gaussian",
    ]
    assert not told["violation"]


def test_a_slot_is_filled_as_train_fills_it():
    words = ("dp-agd", "--use", "selection=permute-and-flip", "--method", "releases", "--seed", "1")
    told = json.loads(audit(*words, "--runs", "40", "--json").output)
    assert "PermuteAndFlip" in " ".join(row["release"] for row in told["releases"])
    refused = audit("dp-agd", "--use", "selection=gaussian")
    assert refused.exit_code == 2 and "selection" in refused.output


@pytest.mark.slow
def test_a_violation_ends_with_1_and_a_file_to_count_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("rsgd-ar", "--as-published", "--rows", "4001", "--runs", "280", "--seed", "1")
    found = audit(*words)
    # The authors normalise gradients; their batches are of 4,000 rows.
    assert found.exit_code == 1 and "\nVIOLATION\n" in found.output
    again = audit("--again", "audit-rsgd-ar.json")
    assert again.exit_code == 1 and again.output.splitlines()[-1] == "VIOLATION"


def test_one_run_is_told():
    found = audit("outpert", "--epsilon", "100", "--method", "one-run", "--runs", "40")
    assert found.exit_code == 0 and "guesses were right" in found.output


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("dp-gd", "--method", "two"), "Expected --method"),
        ((), "Expected an algorithm's NAME"),
        (("--again", "nowhere.json"), "No such file: nowhere.json"),
        (("nonprivate",), "claims no epsilon"),
        (("a-ddp", "--method", "releases"), "audit its final model"),
    ],
)
def test_what_cannot_be_audited_is_refused(words, reason):
    found = audit(*words)
    assert found.exit_code != 0
    assert reason in found.output + str(found.exception)


def test_it_takes_no_data():
    assert "--data" not in audit("--help").output
