"""What has no guarantee, under a ledger: noted as outside of it, never as a charge of nought."""

import json

import pytest
from typer.testing import CliRunner

import dpcore
from dpcore.cli import app
from dpcore.errors import InvalidInputError
from dpcore_ledger import TableLedger, Terms


@pytest.fixture
def ledger(tmp_path) -> TableLedger:
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))


@pytest.fixture
def rows(tmp_path, ledger):
    """Return the options of a table whose schema names the ledger, beside its own file."""
    lines = (f"{i % 10},{'yes' if i % 10 > 4 else 'no'}\n" for i in range(300))
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(lines))
    (tmp_path / "schema.toml").write_text(
        'ledger = "table.ledger"\n[columns]\na = { kind = "numeric", lower = 0, upper = 10 }\n'
        'y = { kind = "label", classes = ["no", "yes"] }\n'
    )
    return ["--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "schema.toml")]


def noted(ledger):
    """Return the reasons of all that is outside, after ``show`` has been looked at."""
    shown = CliRunner().invoke(app, ["ledger", "show", ledger.path]).output
    state = ledger.state()
    assert f"and in no budget: {len(state.outside)}" in shown
    return [reason for entry in state.outside for reason in entry.body["stated"]["why_not_private"]]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["train", "--seed", "3"], "the noise came from a seed"),
        (["train", "--algo", "dp-agd", "--as-published"], "published"),
        (["train", "--algo", "nonprivate"], "without noise"),
        pytest.param(
            ["compare", "--algos", "dp-gd", "--folds", "2"],
            "a comparison: its scores are exact",
            marks=pytest.mark.slow,
        ),
        (["compare", "--algos", "nonprivate"], "references of a comparison: exact fits"),
    ],
)
def test_what_guarantees_nothing_is_outside_and_no_run(rows, ledger, options, reason):
    done = CliRunner().invoke(app, [options[0], *rows, *options[1:]])
    assert done.exit_code == 0, done.output
    assert any(reason in said for said in noted(ledger))
    assert not ledger.state().runs


def test_a_check_of_the_schema_is_outside(rows, ledger):
    done = CliRunner().invoke(app, ["schema", "--check", *rows[1::2]])
    assert done.exit_code == 0, done.output
    assert noted(ledger) == ["exact metrics of how a schema fits"]


@pytest.mark.parametrize("second", [False, True])
def test_metrics_of_test_rows_are_outside_beside_the_run(rows, ledger, second):
    held = ["--test", rows[1]] if second else ["--test-fraction", "0.2"]
    done = CliRunner().invoke(app, ["train", *rows, *held, "--epsilon", "1"])
    assert done.exit_code == 0, done.output
    assert noted(ledger) == ["exact metrics of test rows"]
    assert len(ledger.state().runs) == 1


def test_rows_of_users_are_refused(rows, ledger):
    done = CliRunner().invoke(app, ["train", *rows, "--algo", "a-ddp", "--delta", "1e-5"])
    assert done.exit_code == 2
    assert "no ledger of a table holds it" in done.stderr
    assert not ledger.state().runs


def test_a_ledger_is_beside_the_schema_wherever_the_command_runs(
    rows, ledger, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    out = tmp_path / "model.json"
    done = CliRunner().invoke(app, ["train", *rows, "--epsilon", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    dpcore.fit(rows[1], schema=rows[3], epsilon=0.5)
    monkeypatch.chdir(tmp_path)
    dpcore.fit(rows[1], schema="schema.toml", epsilon=0.1)
    (first, *others) = ledger.state().runs.values()
    assert (len(others), len(first.models)) == (2, 1)
    # A model goes to others: no path of this machine is in it.
    assert "ledger" not in json.loads(out.read_text())["schema"]
    assert str(tmp_path) not in out.read_text()


def test_the_command_without_another_prints_its_help():
    done = CliRunner().invoke(app, ["ledger"])
    assert done.exit_code == 0
    assert "\n  init " in done.output


def test_what_is_said_of_a_ledger_needs_one(rows, tmp_path, monkeypatch):
    text = (tmp_path / "schema.toml").read_text().replace('ledger = "table.ledger"\n', "")
    (tmp_path / "schema.toml").write_text(text)
    with pytest.raises(InvalidInputError, match="Expected a ledger beside --as"):
        dpcore.fit(rows[1], schema=rows[3], epsilon=0.5, analyst="ann")
