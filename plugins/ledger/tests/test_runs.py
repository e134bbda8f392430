"""Runs under a ledger: fits, sessions, estimators and the command line."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import dpcore
from dpcore.cli import app
from dpcore.errors import BudgetExceededError, InvalidInputError, LedgerError
from dpcore.model.file import read_model_file, write_model_file
from dpcore.plugin import Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_ledger.verify import verified
from dpcore_sklearn import PrivateLogisticRegression
from dpcore_tables.statistics import open_session

X = np.random.default_rng(3).uniform(0, 1, (400, 3))
Y = (X[:, 0] > X[:, 1]).astype(int)
PUBLIC = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None}


@pytest.fixture
def ledger(file_ledger):
    return file_ledger


def only(ledger):
    (run,) = ledger.state().runs.values()
    return run


def test_two_fits_at_one_remember_each_other(any_ledger):
    ledger = any_ledger
    first = dpcore.fit(X, Y, **PUBLIC, epsilon=1.0, ledger=ledger.path, analyst="ann")
    run = only(ledger)
    assert (run.outcome, run.stated["analyst"]) == ("finished", "ann")
    assert first.privacy["ledger"]["run"] == run.number
    before = ledger.state().spent(0).spent
    dpcore.fit(X, Y, **PUBLIC, epsilon=1.0, ledger=ledger.path)
    assert ledger.state().spent(0).spent == pytest.approx(2 * before)


def test_a_fit_that_does_not_fit_asks_nothing(ledger, monkeypatch):
    def asked(*_):
        raise AssertionError("the rows were asked")

    monkeypatch.setattr("dpcore.engines.local.LocalEngine.answer", asked)
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        dpcore.fit(X, Y, **PUBLIC, epsilon=5.0, ledger=ledger.path)
    assert not ledger.state().runs


def test_the_reservation_is_there_when_the_rows_are_asked(ledger, monkeypatch):
    from dpcore.plugin.parts import LocalEngine

    honest, seen = LocalEngine.answer, []

    def answer(self, query):
        seen.append([run.outcome for run in ledger.state().runs.values()])
        return honest(self, query)

    monkeypatch.setattr(LocalEngine, "answer", answer)
    dpcore.fit(X, Y, **PUBLIC, epsilon=1.0, ledger=ledger.path)
    assert seen
    assert all(outcomes == ["open"] for outcomes in seen)


def test_a_concentrated_run_that_ends_early_gives_back(ledger):
    model = dpcore.fit(
        X,
        Y,
        **PUBLIC,
        algo="dp-agd",
        accountant="zcdp",
        epsilon=1.0,
        delta=1e-8,
        ledger=ledger.path,
    )
    spent = ledger.state().spent(0).spent
    assert spent == pytest.approx(model.privacy["spent"], rel=1e-9)
    assert spent <= model.privacy["budget"]


def test_private_bounds_are_in_the_same_reservation(ledger):
    model = dpcore.fit(X, Y, classes=(0, 1), private_bounds=True, epsilon=1.0, ledger=ledger.path)
    run = only(ledger)
    assert run.outcome == "finished"
    assert sum(model.privacy["releases"].values()) > 1


def test_what_has_no_guarantee_is_outside(ledger):
    dpcore.fit(X, Y, **PUBLIC, epsilon=1.0, seed=1, ledger=ledger.path)
    state = ledger.state()
    assert not state.runs
    assert state.outside[0].body["stated"]["why_not_private"] == ["the noise came from a seed"]


def test_an_interrupt_closes_the_run_and_what_was_charged_stays(ledger, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpcore.noise.entropy.SystemEntropy.words", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dpcore.fit(X, Y, **PUBLIC, epsilon=1.0, ledger=ledger.path)
    assert only(ledger).outcome == "ended by KeyboardInterrupt"
    assert ledger.state().spent(0).spent_ticks > 0


def test_another_schema_is_another_table(ledger):
    dpcore.fit(X, Y, **PUBLIC, epsilon=0.5, ledger=ledger.path)
    other = {**PUBLIC, "bounds": (0, 2)}
    with pytest.raises(InvalidInputError, match="another schema"):
        dpcore.fit(X, Y, **other, epsilon=0.5, ledger=ledger.path)
    dpcore.fit(X, Y, **other, epsilon=0.5, ledger=ledger.path, same_table=True)
    entries = [entry for entry in verified(ledger.path) if entry.kind == "reserved"]
    assert [entry.body["confirmed"] for entry in entries] == [False, True]


def test_a_session_is_charged_when_it_is_opened(any_ledger):
    ledger = any_ledger
    public = {"bounds": (0, 1), "row_norm": None, "classes": (0, 1)}
    with open_session(X, Y, **public, epsilon=1.0, ledger=ledger.path) as session:
        whole = ledger.state().spent(0).spent_ticks
        session.count(share=0.1)
        assert session.statement()["ledger"]["run"] == only(ledger).number
    assert only(ledger).outcome == "closed"
    assert 0 < ledger.state().spent(0).spent_ticks < whole


def test_an_estimator_is_charged_for_each_fit(ledger):
    estimator = PrivateLogisticRegression(epsilon=0.5, bounds=(0, 1), classes=(0, 1))
    estimator.set_params(ledger=ledger.path).fit(X, Y).fit(X, Y)
    assert len(ledger.state().runs) == 2


def test_the_variable_and_the_schema_name_it(ledger, monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_LEDGER", ledger.path)
    dpcore.fit(X, Y, **PUBLIC, epsilon=0.5)
    assert len(ledger.state().runs) == 1
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "absent"))
    with pytest.raises(LedgerError, match="There is no ledger"):
        dpcore.fit(X, Y, **PUBLIC, epsilon=0.5)


@pytest.mark.parametrize(("told", "runs"), [({}, 1), ({"table_ledger": None}, 0)])
def test_a_run_of_a_command_is_charged_unless_it_says_that_another_charge_is_its_own(
    ledger, told, runs
):
    data = dataset_from_arrays(X, Y, **PUBLIC)
    data = replace(data, schema=replace(data.schema, ledger=ledger.path))
    Run(make_plan(Settings("dp-gd", epsilon=1.0)), data, **told).model()
    assert len(ledger.state().runs) == runs


@pytest.mark.slow
def test_the_command_line(tmp_path, any_ledger, by_hand):
    ledger = any_ledger
    (tmp_path / "rows.csv").write_text(
        "a,y\n" + "".join(f"{i % 10},{'yes' if i % 10 > 4 else 'no'}\n" for i in range(500))
    )
    (tmp_path / "schema.toml").write_text(
        f'ledger = {json.dumps(ledger.path)}\n[columns]\na = {{ kind = "numeric", lower = 0, '
        'upper = 10 }\ny = { kind = "label", classes = ["no", "yes"] }\n'
    )
    run = CliRunner().invoke
    rows = ["--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "schema.toml")]
    out = tmp_path / "model.json"
    done = run(app, ["train", *rows, "--epsilon", "1", "--as", "ann", "--out", str(out)])
    assert done.exit_code == 0, done.output
    shown = run(app, ["ledger", "show", ledger.path])
    assert "ann" in shown.output
    assert "finished" in shown.output
    listed = json.loads(run(app, ["ledger", "show", ledger.path, "--json"]).output)
    assert listed["runs"][0]["analyst"] == "ann"
    assert len(listed["runs"][0]["models"]) == 1
    older = len(verified(ledger.path))
    second = tmp_path / "second.json"
    assert run(app, ["train", *rows, "--epsilon", "1", "--out", str(second)]).exit_code == 0
    assert run(app, ["ledger", "verify", ledger.path, str(out), str(second)]).exit_code == 0
    check = run(app, ["schema", "--check", str(tmp_path / "rows.csv"), rows[3], "--epsilon", ".1"])
    assert check.exit_code == 0, check.output
    assert len(ledger.state().runs) == 3
    refused = run(app, ["train", *rows, "--epsilon", "9"])
    assert refused.exit_code == 2
    # By hand, with a checksum that fits it again.
    content, kept = read_model_file(second), second.read_bytes()
    content["intercept"] += 1.0
    write_model_file(second, content)
    changed = run(app, ["ledger", "verify", ledger.path, str(out), str(second)])
    assert changed.exit_code == 2
    assert "second.json: it was changed since" in changed.output
    assert "model.json" not in changed.output
    second.write_bytes(kept[:-9])
    assert (
        "second.json: it cannot be read"
        in run(app, ["ledger", "verify", ledger.path, str(second)]).output
    )
    second.write_bytes(kept)
    # An older copy does not know of the second model.
    by_hand(ledger, "DELETE FROM entry WHERE number > ?", (older,))
    restored = run(app, ["ledger", "verify", ledger.path, str(out), str(second)])
    assert restored.exit_code == 2
    assert "second.json" in restored.output


def test_a_raise_is_said_to_be_one(ledger):
    run = CliRunner().invoke
    raised = run(app, ["ledger", "raise", ledger.path, "--epsilon", "1"])
    assert "(3, 2e-06)" in raised.output
    assert "no guarantee that was fixed beforehand" in raised.output


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gives_nothing_back(any_ledger):
    ledger = any_ledger
    public = {"bounds": (0, 1), "row_norm": None, "classes": (0, 1)}
    with open_session(X, Y, **public, epsilon=1.0, ledger=ledger.path) as session:
        child = os.fork()
        if child == 0:
            try:
                session.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert only(ledger).outcome == "open"
        session.count(share=1.0)
    spent = ledger.state().spent(0).spent
    assert only(ledger).outcome == "closed" and spent > 0
    verified(ledger.path)


def test_what_turns_out_not_private_is_counted_whole_and_named(ledger):
    from dpcore_ledger.rendering import promise

    run = CliRunner().invoke
    public = {"bounds": (0, 1), "row_norm": None, "classes": (0, 1)}
    session = open_session(X, Y, **public, epsilon=1.0, ledger=ledger.path)
    session._session._parts._not_private.add("somewhere:Part")
    session.count(share=0.1)
    session.close()
    state = ledger.state()
    number = only(ledger).number
    assert only(ledger).ticks == only(ledger).reserved[0]
    assert f"Runs {number} turned out to guarantee nothing" in promise(
        state.budgets, [*state.runs.values()]
    )
    assert "guarantee nothing" in run(app, ["ledger", "show", ledger.path]).output


def test_conditions_of_a_run_are_those_of_the_promise(ledger):
    from dpcore_ledger.rendering import promise

    model = dpcore.fit(X, Y, **PUBLIC, algo="objpert", epsilon=0.3, ledger=ledger.path)
    state = ledger.state()
    assert "at most 134,217,728 rows" in model.privacy["sentence"]
    said = promise(state.budgets, [*state.runs.values()])
    assert "among tables of at most 134,217,728 rows" in said


def test_a_run_that_has_not_told_its_conditions_is_named(ledger):
    from dpcore_ledger.rendering import promise

    def said():
        state = ledger.state()
        return promise(state.budgets, [*state.runs.values()])

    public = {"bounds": (0, 1), "row_norm": None, "classes": (0, 1)}
    session = open_session(X, Y, **public, ledger=ledger.path)
    assert "not known" not in said()  # Nothing was released.
    session.count(share=0.1)
    number = only(ledger).number
    assert f"Runs {number} are open or died, and their conditions are not known" in said()
    ledger.close_as_spent(number)
    assert f"Runs {number} are open or died" in said()
    with open_session(X, Y, **public, ledger=ledger.path) as second:
        second.count(share=0.1)
    assert f"Runs {number} are" in said()


@pytest.mark.slow
def test_references_of_a_comparison_are_noted(tmp_path, ledger):
    (tmp_path / "rows.csv").write_text("a,y\n" + "1,no\n2,yes\n" * 60)
    (tmp_path / "schema.toml").write_text(
        f'ledger = {json.dumps(ledger.path)}\n[columns]\na = {{ kind = "numeric", lower = 0, '
        'upper = 10 }\ny = { kind = "label", classes = ["no", "yes"] }\n'
    )
    asked = ["compare", "--data", str(tmp_path / "rows.csv"), "--algos", "nonprivate,dp-gd"]
    asked += ["--epsilon", "1"]
    done = CliRunner().invoke(app, [*asked, "--schema", str(tmp_path / "schema.toml")])
    assert done.exit_code == 0, done.output
    assert len(ledger.state().outside) == 1 and not ledger.state().runs
