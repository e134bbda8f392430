"""A command with ``fits=True``: whatever it does with what it is handed, what is said is true."""

from dataclasses import replace

import pytest

from dpcore.cli.fit_options import FitOptions
from dpcore.cli.training import run_and_tell
from dpcore.errors import InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, LedgerRequest, Run, make_plan
from dpcore_ledger import TableLedger, Terms

QUIET = {"as_json": True, "quiet": True}
PLAN = make_plan(Settings("dp-gd", epsilon=1.0, params={"steps": "2"}))


@pytest.fixture
def asked(folder):
    return DataRequest("rows.csv", folder / "schema.toml")


@pytest.fixture
def ledger(tmp_path):
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(9.0, 1e-6))


def outcomes(ledger):
    return [run.outcome for run in ledger.state().runs.values()]


def given(ledger):
    """Return the options of a command that fits, as far as its run takes them."""
    nothing = dict.fromkeys(("out", "schema"))
    return {"ledger": ledger.path, "analyst": "", "same_table": False, **nothing, **QUIET}


def test_a_command_that_leaves_its_ledger_is_charged_all_the_same(asked, ledger, capsys):
    def heedless(rows, charges, of_table):
        return Run.train(PLAN, rows)

    def another(rows, charges, of_table):
        return Run.train(PLAN, rows, table_ledger=LedgerRequest(None))

    for by in (heedless, another):
        run_and_tell(by, asked, given(ledger))
        assert f"{by.__qualname__}" in capsys.readouterr().out
    assert outcomes(ledger) == ["finished", "finished"]


def test_a_training_of_other_rows_than_a_command_was_handed_is_refused(asked, ledger, capsys):
    def around(rows, charges, of_table):
        return Run.train(PLAN, DataRequest(rows.data, rows.schema))

    def unnamed(rows, charges, of_table):
        return Run.train(PLAN, replace(rows, asked_by=()))

    for by in (around, unnamed):
        with pytest.raises(InvalidInputError, match="not of the rows that it was handed"):
            run_and_tell(by, asked, given(ledger))
    assert capsys.readouterr().out == ""  # No report says that it was charged, or listed.


def test_a_run_before_its_settings_is_refused_in_words():
    fit = FitOptions(QUIET)
    with pytest.raises(InvalidInputError, match=r"settings\(\.\.\.\) before fit\.run"):
        fit.run(lambda rows, charges, of_table: None)
