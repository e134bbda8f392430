"""Numbers of runs: 1, 2, 3 in the order of their reservations, wherever a user meets them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dpcore
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.cli import app
from dpcore.errors import InvalidInputError, LedgerError
from dpcore.model.file import read_model_file, write_model_file
from dpcore_ledger import Terms
from dpcore_ledger.cost import Run
from dpcore_ledger.state import totals_and_run, totals_of
from dpcore_ledger.verify import unknown_models, verified
from dpcore_tables.statistics import open_session

X = np.random.default_rng(3).uniform(0, 1, (60, 2))
Y = (X[:, 0] > X[:, 1]).astype(int)
PUBLIC = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None}
STATED = {"analyst": "ann", "algorithm": "test", "epsilon": 0.1, "delta": 1e-8}
RUN = Run(ZcdpAccountant.from_budget(0.1, 1e-8), "add-or-remove-one", None)


@pytest.fixture
def ledger(any_ledger):
    return any_ledger


def dpcore_says(*command):
    done = CliRunner().invoke(app, ["ledger", *command])
    return done.output


def test_runs_are_numbered_in_the_order_of_their_reservations(ledger):
    # They had the numbers of their entries.
    ledger.reserve(RUN, STATED).close("finished")
    second = ledger.reserve(RUN, STATED)
    ledger.raise_cap(Terms.of(1.0, 1e-6))
    third = open_session(X, Y, **PUBLIC, ledger=ledger.path)
    third.count(share=0.1)
    state = ledger.state()
    assert [run.number for run in state.runs.values()] == [1, 2, 3]
    assert [run.entry for run in state.runs.values()] == [*state.runs] == [2, 4, 6]
    listed = json.loads(dpcore_says("show", ledger.path, "--json"))["runs"]
    assert [each["run"] for each in listed] == [1, 2, 3]
    assert "Open, and counted for all that was charged: 2, 3." in dpcore_says("show", ledger.path)
    assert second.reference["run"] == 2
    assert third.statement()["ledger"]["run"] == 3
    third.close()
    second.close("finished")
    # Entries name runs by their reservations, as they always did.
    entries = verified(ledger.path)
    assert [entry.body["run"] for entry in entries if entry.kind == "closed"] == [2, 6, 4]


def test_a_state_without_the_runs_counts_them_all_the_same(ledger):
    for _ in range(3):
        ledger.reserve(RUN, STATED).close("finished")
    entries = ledger.chain.entries()
    assert totals_of(entries).n_runs == ledger.state().n_runs == 3
    assert totals_and_run(entries, 4).runs[4].number == 2


def test_close_takes_the_number_that_show_shows(ledger):
    ledger.reserve(RUN, STATED).close("finished")
    ledger.reserve(RUN, STATED)
    died = ledger.reserve(RUN, {**STATED, "algorithm": "dp-gd"})
    assert "no open run 5. Open runs: 2, 3." in dpcore_says("close", ledger.path, "5")
    with pytest.raises(InvalidInputError, match=r"no open run 1\. Open runs: 2, 3\."):
        ledger.close_as_spent(1)
    said = dpcore_says("close", ledger.path, "3")
    assert "Closed run 3 (dp-gd, 20" in said
    assert [run.outcome for run in ledger.state().runs.values()] == ["finished", "open", "died"]
    with pytest.raises(LedgerError, match="Run 3 of the ledger was closed while it ran"):
        died.close("finished")
    ledger.close_as_spent(2)
    with pytest.raises(InvalidInputError, match=r"no open run 2\. Open runs: none\."):
        ledger.close_as_spent(2)


def test_a_model_knows_the_number_and_the_entry(file_ledger, tmp_path):
    ledger, saved = file_ledger, tmp_path / "model.json"
    ledger.reserve(RUN, STATED).close("finished")
    model = dpcore.fit(X, Y, **PUBLIC, epsilon=0.5, ledger=ledger.path)
    model.save(saved)
    kept = model.privacy["ledger"]
    assert (kept["run"], kept["entry"]) == (2, 4)
    entries = verified(ledger.path)
    assert unknown_models(entries, [saved]) == []
    content = read_model_file(saved)
    # A model of before has the number of the entry alone, as its run.
    content["privacy"]["ledger"] = {"id": kept["id"], "run": 4, "digest": kept["digest"]}
    write_model_file(saved, content)
    assert unknown_models(entries, [saved]) == []
    content["privacy"]["ledger"] = {**kept, "entry": 2}
    write_model_file(saved, content)
    ((_, reason),) = unknown_models(entries, [saved])
    assert "does not know its run" in reason


def test_an_altered_release_is_told_with_the_run(file_ledger, by_hand):
    ledger = file_ledger
    ledger.reserve(RUN, STATED).close("finished")
    with open_session(X, Y, **PUBLIC, epsilon=0.5, ledger=ledger.path) as session:
        session.count(share=0.1)
    by_hand(ledger, "DELETE FROM release")
    with pytest.raises(LedgerError, match="releases of run 2 are missing"):
        verified(ledger.path)
