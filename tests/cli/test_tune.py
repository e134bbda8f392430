"""``dpcore tune`` from arguments to report, model file and ledger."""

import json
import re

import numpy as np
import pytest

from dpcore_ledger import TableLedger

SCHEMA = """
[columns]
a = { kind = "numeric", lower = 0, upper = 1 }
b = { kind = "numeric", lower = 0, upper = 1 }
label = { kind = "label", classes = ["no", "yes"] }
"""


@pytest.fixture
def tune(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    cells = rng.uniform(0, 1, (300, 2))
    lines = [f"{a},{b},{'yes' if a > b else 'no'}" for a, b in cells]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,label", *lines, ""]))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments):
        return run(
            *("tune", "--algo", "dp-gd", "--data", "rows.csv", "--schema", "schema.toml"),
            *("--candidates", "l2=.001,.1", "--tries", "2", "--epsilon", "2", "--delta", "1e-6"),
            *arguments,
        )

    return invoke


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "list"])
def test_a_search_is_told_and_kept(tune, tmp_path, kind):
    result = tune("--search", kind, "--candidates", "clip=.1,.2", "--out", "model.json", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    model = json.loads((tmp_path / "model.json").read_text())
    search = model["privacy"]["search"]
    assert (report["epsilon"], report["delta"], report["releases"]) == (2.0, 1e-6, {"search": 1})
    assert "seconds" not in report  # they would tell how many tries there were
    assert len(search["candidates"]) == 4 and search["kind"] == kind
    assert search["candidates"][0] == {"l2": ".001", "clip": ".1"}
    assert report["l2"] in (0.001, 0.1)
    assert model["algo"]["parameters"]["clip"] in (0.1, 0.2)
    assert "guarantee is for" in model["privacy"]["sentence"]
    assert all(line.startswith("dpcore: warning") for line in result.stderr.splitlines())


@pytest.mark.slow
def test_a_ledger_is_charged_one_run(tune, run, tmp_path):
    opened = run(*("ledger", "init", "t.ledger", "--epsilon", "9", "--delta", "1e-4"))
    assert opened.exit_code == 0
    result = tune("--ledger", "t.ledger", "--as", "ann", "--out", "m.json")
    assert result.exit_code == 0, result.stderr
    (kept,) = TableLedger(tmp_path / "t.ledger").state().runs.values()
    assert (kept.stated["algorithm"], kept.outcome) == ("search of dp-gd", "finished")
    # The budget of the whole is in epsilon, whatever each fit is held to.
    assert (
        "2 of its budget of 2, counted in epsilon (each fit by the zcdp accountant, "
        in result.stdout
    )
    verified = run("ledger", "verify", "t.ledger", "m.json")
    assert verified.exit_code == 0, verified.stdout + verified.stderr


def test_the_address_of_a_ledger_is_taken_as_it_is(tune):
    # As a path it would have lost one of its slashes.
    result = tune("--ledger", "postgresql://db/tables?ledger=No")
    assert result.exit_code == 2 and "ledger='No' in an address" in result.stderr


def test_a_report_is_in_words(tune):
    shown = tune("--test-fraction", "0.2").stdout
    assert "Fitted dp-gd on rows" in shown and "Noisy answers released: search" in shown
    assert "of 2 candidates" in shown and "computed WITHOUT privacy" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--candidates", "l2=1"), "twice"),
        (("--candidates", "clip=.1,,.2"), "between the commas"),
        (("--candidates", "clip=.1,.1"), "same"),
        (("--accountant", "gdp"), "zcdp, rdp or pure"),
        (("--epsilon", "-1"), "epsilon"),
        (("--held-out", "1.5"), "held-out"),
    ],
)
def test_a_refusal_is_one_line_before_any_charge(tune, charged, arguments, message):
    result = tune(*arguments)
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
    assert not result.stdout


def test_something_has_to_be_searched(run):
    result = run("tune")
    assert result.exit_code == 2 and "--candidates KEY" in result.stderr


@pytest.mark.slow
def test_candidates_are_called_so_and_the_old_name_is_taken_with_a_warning(tune, run, tmp_path):
    # The option was --set, which elsewhere sets one value; the estimator, models and messages say
    # candidates.
    assert "--set" not in run("tune", "--help").stdout
    told = r"warning: tune --set is called --candidates, and the next version takes that name alone"
    for old, expected in ((False, 0), (True, 1)):
        asked = ("--set" if old else "--candidates", "clip=.1,.2", "--out", "m.json")
        result = tune(*asked)
        assert result.exit_code == 0, result.stderr
        assert len(re.findall(told, result.stderr)) == expected
        search = json.loads((tmp_path / "m.json").read_text())["privacy"]["search"]
        assert search["candidates"][-1] == {"l2": ".1", "clip": ".2"}
    assert re.search("--candidates sets the same name twice", tune("--set", "l2=1").stderr)
    assert "is called" not in tune("--set", "clip=.1,.2", "--quiet").stderr
