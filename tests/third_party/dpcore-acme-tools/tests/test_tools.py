"""Somebody else's command, from the command line: listed, explained, run and refused."""

import json

import pytest
from typer.testing import CliRunner


@pytest.fixture
def run(installed, tmp_path, monkeypatch):
    """Return a function that runs the command line beside a small file."""
    rows = [f"{i % 10},{'yes' if i % 3 else 'no'}" for i in range(400)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y", *rows, ""]))
    (tmp_path / "schema.toml").write_text(
        'rows = 400\n[columns]\nx = { kind = "numeric", lower = 0, upper = 9 }\n'
        'y = { kind = "label", classes = ["no", "yes"] }\n'
    )
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        from dpcore.cli import app

        result = CliRunner().invoke(app, [*map(str, arguments)])
        assert result.exit_code == code, (result.stderr, result.exception)
        return result.stdout if code == 0 else result.stderr

    return invoke


SWEEP = ("acme-sweep", "rows.csv", "--schema", "schema.toml")


def test_its_command_is_among_the_others(run):
    shown = run("--help")
    told = "Many fits (acme-tools 1.2):\n  acme-sweep  Fit at several epsilons, and tabulate"
    assert told in shown and shown.index("  ledger ") < shown.index("acme-sweep")
    of_it = run("acme-sweep", "--help")
    assert "Usage: dpcore acme-sweep [OPTIONS] DATA" in of_it
    assert "A command of acme-tools 1.2." in of_it
    assert of_it.index("Options:") < of_it.index("\nCharges:\n  --ledger")
    assert "acme-tools 1.2" in run("list", "commands")
    told = json.loads(run("info", "acme-sweep", "--json"))
    assert told["group"] == "Many fits" and told["doc"].startswith("Fit a model at each epsilon")
    assert "Did you mean 'acme-sweep'?" in run("acme-swep", code=2)


def test_its_command_runs_many_fits(run):
    told = json.loads(run(*SWEEP, "--epsilons", "0.5,2", "--json"))
    assert [fit["epsilon"] for fit in told["fits"]] == [0.5, 2.0]
    assert all(0 < fit["spent"] <= fit["budget"] for fit in told["fits"])


def test_a_wrong_word_of_it_is_one_line(run):
    told = run(*SWEEP, "--epsilons", "a", code=2)
    assert told == "dpcore: Expected --epsilons 'a': numbers, by commas.\n"
    assert run("check", "acme-sweep", code=2).startswith("dpcore: acme-sweep is a command, which")
