"""Somebody else's command, export format and store of ledgers, from the command line."""

import json
import re
import sqlite3
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpcore import load_model
from dpcore.cli import app
from dpcore.plugin.commands import make_plan


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
        result = CliRunner().invoke(app, [*map(str, arguments)])
        assert result.exit_code == code, (result.stderr, result.exception)
        return result.stdout if code == 0 else result.stderr

    return invoke


SWEEP = ("acme-sweep", "rows.csv", "--schema", "schema.toml")


def test_its_command_is_among_the_others(run):
    shown = run("--help")
    told = "Many fits (acme-tools 1.2):\n  acme-sweep  Fit at several epsilons, and tabulate"
    assert told in shown and shown.index("  account ") < shown.index("acme-sweep")
    of_it = run("acme-sweep", "--help")
    assert "Usage: dpcore acme-sweep [OPTIONS] DATA" in of_it
    assert "A command of acme-tools 1.2." in of_it
    assert of_it.index("Options:") < of_it.index("\nCharges:\n  --ledger")
    assert "acme-tools 1.2" in run("list", "commands")
    told = json.loads(run("info", "acme-sweep", "--json"))
    assert told["group"] == "Many fits" and told["doc"].startswith("Fit a model at each epsilon")
    assert "Did you mean 'acme-sweep'" in run("acme-swep", code=2)


def test_its_command_runs_many_fits(run):
    told = json.loads(run(*SWEEP, "--epsilons", "0.5,2", "--json"))
    assert [fit["epsilon"] for fit in told["fits"]] == [0.5, 2.0]
    assert all(0 < fit["spent"] <= fit["budget"] for fit in told["fits"])


def test_a_wrong_word_of_it_is_one_line(run):
    told = run(*SWEEP, "--epsilons", "a", code=2)
    assert told == "dpcore: Expected --epsilons 'a' as numbers, by commas.\n"
    assert run("check", "acme-sweep", code=2).startswith(
        "dpcore: acme-sweep is of the kind command, which"
    )


ROWS = ("--data", "rows.csv", "--schema", "schema.toml", "--quiet")
TRAIN = ("train", "--algo", "dp-gd", "--set", "steps=5", *ROWS)


def test_its_command_reads_a_model(run):
    run(*TRAIN, "--out", "model.json")
    told = json.loads(run("acme-largest", "model.json", "--json"))
    assert told["size"] == abs(load_model("model.json").w).max()
    assert run("acme-largest", "model.json").startswith(f"{told['column']}: ")


def test_its_export_format_is_chosen_by_the_suffix(run):
    run(*TRAIN, "--out", "model.json")
    assert run("export", "model.json", "model.sql") == "SQL: model.sql\n"
    written = sqlite3.connect(":memory:")
    written.executescript(Path("model.sql").read_text())
    found = dict(written.execute("SELECT * FROM coefficient"))
    assert list(found) == ["x", "intercept"]
    assert list(found.values()) == load_model("model.json").w.tolist()
    written.close()
    assert ".onnx or .sql" in run("export", "model.json", "model.txt", code=2)
    assert json.loads(run("info", "acme-sql", "--json"))["suffixes"] == [".sql"]


LEDGER = "acme-lines://table.lines"


@pytest.fixture
def ledger(run):
    run("ledger", "init", LEDGER, "--epsilon", 3)
    return Path("table.lines")


def test_its_store_holds_the_charges_of_all_runs(run, ledger):
    run(*TRAIN, "--ledger", LEDGER, "--out", "model.json")
    privacy = json.loads(Path("model.json").read_text())["privacy"]
    assert privacy["parts_not_from_dpcore"] == ["acme_tools.lines:LinesStore"]
    assert "acme_tools.lines:LinesStore" in privacy["sentence"]
    assert "none altered; 1 model known" in run("ledger", "verify", LEDGER, "model.json")
    (done,) = json.loads(run("ledger", "show", LEDGER, "--json"))["runs"]
    assert done["outcome"] == "finished"
    before = ledger.read_bytes()
    assert "Nothing was charged" in run(*TRAIN, "--epsilon", 5, "--ledger", LEDGER, code=2)
    assert ledger.read_bytes() == before
    assert "Cannot make" in run("ledger", "init", LEDGER, "--epsilon", 3, code=2)
    assert ledger.read_bytes() == before


def test_a_line_of_its_store_that_was_cut_short_was_never_charged(run, ledger):
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + b'{"entry": [[2, "res')
    assert "1 entries, none altered" in run("ledger", "verify", LEDGER)
    run(*TRAIN, "--ledger", LEDGER)
    assert ledger.read_bytes().startswith(whole + b'{"entry": [[2, "reserved"')


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"add-or-remove-one", b"replace-one", "was altered at entry 1"),
        (b'{"entry"', b'{"entri"', "was damaged"),
    ],
)
def test_its_store_refuses_what_was_altered(run, ledger, old, new, said):
    assert old in ledger.read_bytes()
    ledger.write_bytes(ledger.read_bytes().replace(old, new))
    assert said in run(*TRAIN, "--ledger", LEDGER, code=2)


def test_two_at_once_are_not_both_charged_what_one_leaves(run, ledger):
    from dpcore.errors import BudgetExceededError
    from dpcore.plugin import Settings
    from dpcore.plugin.commands import DataRequest, LedgerRequest, Run

    def fit(_):
        request = DataRequest("rows.csv", Path("schema.toml"))
        plan = make_plan(Settings(algo="dp-gd", epsilon=2.9, params={"steps": "5"}))
        try:
            return Run.train(plan, request, table_ledger=LedgerRequest(LEDGER)).model.privacy[
                "epsilon"
            ]
        except BudgetExceededError:
            return None

    with ThreadPool(2) as pool:
        assert sorted(map(str, pool.map(fit, range(2)))) == ["2.9", "None"]


def test_an_address_that_nobody_keeps_is_refused(run):
    told = run("ledger", "init", "acme-line://x", "--epsilon", 1, code=2)
    assert "no store of ledgers for addresses of 'acme-line'. Did you mean acme-lines" in told


def test_its_parts_are_used_by_name_and_named(run):
    run("list", "--strict")  # It ends with status 1 if a target cannot be used.
    asked = ("train", "--data", "acme-steps", "--algo", "dp-agd", "--json")
    parts = ("--accountant", "acme-basic", "--engine", "acme-one-thread", "--delta", 0)
    told = json.loads(run(*asked, *parts, "--use", "gradient=laplace"))
    assert told["parts_not_from_dpcore"] == [
        *("acme_tools.parts:BasicAccountant", "acme_tools.parts:OneThread"),
        "acme_tools.parts:load_steps",
    ]


def test_its_loss_of_two_functions_of_a_row_is_trained_with_and_named(run):
    asked = ("--loss", "acme-ramp", "--set", "loss.most=1.5")
    told = json.loads(run(*TRAIN, *asked, "--out", "model.json", "--json"))
    assert told["parts_not_from_dpcore"] == ["acme_tools.parts:Ramp"]
    model = load_model("model.json")
    assert (model.loss, model.loss_parameters) == ("acme-ramp", {"most": 1.5})


@pytest.mark.parametrize(
    "name", ["acme-absolute", "acme-ramp", "acme-basic", "acme-steps", "acme-one-thread"]
)
def test_its_parts_pass_their_checks(run, name):
    assert "FAILED" not in run("check", name)


def test_a_store_that_forgets_a_reservation_is_found_before_a_row_is_asked(
    run, ledger, monkeypatch
):
    from acme_tools.lines import LinesStore

    monkeypatch.setattr(LinesStore, "_add", lambda self, *added: None)  # Broken on purpose.
    told = run(*TRAIN, "--ledger", LEDGER, "--out", "model.json", code=2)
    assert "did not keep the run's reservation" in told
    assert not Path("model.json").exists()


ONCE = ("acme-once", "--algo", "dp-gd", *ROWS)
PAGE = Path(__file__).parents[4] / "docs/hooks.md"


def test_its_command_that_fits_is_charged_and_named(run, ledger):
    run(*ONCE, "--ledger", LEDGER, "--out", "model.json")
    privacy = load_model("model.json").privacy
    named = ["acme_tools.lines:LinesStore", "acme_tools.once:once.<locals>.by"]
    assert privacy["parts_not_from_dpcore"] == named and privacy["private"]
    assert ", ".join(named) in privacy["sentence"]
    (done,) = json.loads(run("ledger", "show", LEDGER, "--json"))["runs"]
    assert done["outcome"] == "finished" and privacy["ledger"]["run"] == 1


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the pages of a checkout")
def test_its_command_that_fits_is_written_as_the_page_says():
    section = PAGE.read_text().split("## Fits of a command")[1].split("```")[0]
    source = Path(__file__).parents[1].joinpath("acme_tools/once.py").read_text()
    said = [span for span in re.findall(r"`([^`]+)`", section) if "(" in span or ":" in span]
    assert len(said) == 5
    shown = (
        source.replace(": DataRequest", "").replace(": LedgerRequest", "").replace(": Any,", ",")
    )
    assert [span for span in said if span not in shown] == []
