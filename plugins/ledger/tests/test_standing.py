"""What is said of a run that failed around its reservation is what its ledger has."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from test_table_ledger import STATED, a_release, a_run

import dpcore
from dpcore.errors import BudgetExceededError, LedgerError
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.run_log import RunLog
from dpcore_ledger.verify import verified
from dpcore_tables.statistics import open_session

X = np.random.default_rng(3).uniform(0, 1, (200, 2))
Y = (X[:, 0] > X[:, 1]).astype(int)
PUBLIC = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None, "epsilon": 0.5}


@pytest.fixture
def ledger(any_ledger):
    return any_ledger


@pytest.fixture
def after_reserving(monkeypatch):
    """A function that lets something happen to a ledger between a reservation and its run."""
    honest = TableLedger.reserve

    def happens(act):
        def reserve(self, *asked, **named):
            reservation = honest(self, *asked, **named)
            act()
            return reservation

        monkeypatch.setattr(TableLedger, "reserve", reserve)

    return happens


def notes_of(act, kind=LedgerError):
    with pytest.raises(kind) as told:
        act()
    return " ".join(getattr(told.value, "__notes__", ()))


def fit(ledger):
    return lambda: dpcore.fit(X, Y, **PUBLIC, ledger=ledger.path)


def session(ledger):
    def ask():
        with open_session(X, Y, **PUBLIC, ledger=ledger.path) as opened:
            opened.count(share=0.5)

    return ask


@pytest.mark.parametrize("run", [fit, session])
@pytest.mark.parametrize("befalls", ["a second name", "another name"])
def test_a_file_that_is_linked_or_renamed_has_the_reservation(
    file_ledger, after_reserving, run, befalls
):
    ledger, other = file_ledger, f"{file_ledger.path}-other"
    act = {"a second name": os.link, "another name": os.rename}[befalls]
    after_reserving(lambda: act(ledger.path, other))
    said = notes_of(run(ledger))
    assert "Nothing was charged" not in said
    assert f"Run 1 was charged to the ledger {ledger.path!r}; whether all of it counts" in said
    assert "No release was made; " in said
    os.replace(other, ledger.path) if befalls == "another name" else os.unlink(other)
    assert TableLedger(ledger.path).state().runs[2].outcome == "open"


def test_a_ledger_in_whose_place_an_older_copy_is_put_is_told_of(ledger, by_hand):
    reservation = ledger.reserve(a_run(0.2), STATED)
    by_hand(ledger, "DELETE FROM entry WHERE number > 1")
    with pytest.raises(LedgerError, match="no run 1 like this one any more: another copy took"):
        reservation.close("finished")
    assert "which does not have it any more: another copy took" in reservation.standing()
    assert len(verified(ledger.path)) == 1


@pytest.fixture
def own_server():
    """A server that a test may stop."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: dpcore[postgresql]")
    from postgresql_server import Server

    it = Server()
    yield it
    if it.process.poll() is None:
        it.stop()


@pytest.mark.slow
def test_a_server_that_stops_has_the_reservation(own_server, after_reserving):
    ledger = TableLedger.create(own_server.address(), Terms.of(2.0, 1e-6))
    ledger.close()
    after_reserving(own_server.stop)
    said = notes_of(fit(ledger))
    assert "Nothing was charged" not in said
    assert "Run 1 was charged to the ledger" in said and "cannot be read now" in said


class Lost:
    """Connections of a ledger whose statement is lost, or whose answer is."""

    def __init__(self, monkeypatch, ledger):
        self.broken = []
        if ledger.path.startswith("postgresql:"):
            import psycopg

            from dpcore_ledger.stores.postgresql import _Connection

            self._fails = psycopg.OperationalError("server closed the connection unexpectedly")
            honest = _Connection.execute

            def execute(connection, statement, values=()):
                return self._run(lambda: honest(connection, statement, values), statement)

            monkeypatch.setattr(_Connection, "execute", execute)
        else:
            import sqlite3

            from dpcore_ledger.stores import sqlite

            self._fails = sqlite3.OperationalError("disk I/O error")
            self._fails.sqlite_errorname = "SQLITE_IOERR"
            lost, connect = self, sqlite3.connect

            class Connection(sqlite3.Connection):
                def execute(self, statement, *values):
                    honest = super().execute
                    return lost._run(lambda: honest(statement, *values), statement)

            monkeypatch.setattr(
                sqlite.sqlite3, "connect", lambda *a, **k: connect(*a, factory=Connection, **k)
            )

    def next(self, words, done, error=None):
        """Break the next statement that begins so, ``done`` or not."""
        self.broken.append((words, done, error or self._fails))

    def _run(self, honest, statement):
        if self.broken and statement.strip().startswith(self.broken[0][0]):
            _, done, error = self.broken.pop(0)
            if done:
                honest()
            raise error
        return honest()


@pytest.fixture
def lost(ledger, monkeypatch):
    ledger.close()
    return Lost(monkeypatch, ledger)


@pytest.mark.parametrize("kind", [LedgerError, KeyboardInterrupt])
@pytest.mark.parametrize("done", [False, True])
def test_whether_a_reservation_was_committed_is_looked_up(ledger, lost, done, kind):
    lost.next("COMMIT", done, None if kind is LedgerError else kind())
    said = notes_of(fit(ledger), kind)
    there = "The ledger has the run's budget, as run 1, which is open and counts whole"
    assert (there in said) == done and ("does not have the run's budget" in said) != done
    assert "Nothing was charged;" not in said
    state = TableLedger(ledger.path).state()
    assert len(state.runs) == done
    if done:
        ledger.close_as_spent(1)
    verified(ledger.path)


def test_one_that_cannot_be_looked_up_is_said_not_to_be_known(ledger, lost, monkeypatch):
    def unreadable(self):
        raise LedgerError("The ledger cannot be reached.")

    monkeypatch.setattr("dpcore_ledger.chain.Chain.settled", unreadable)
    lost.next("COMMIT", True)
    said = notes_of(fit(ledger))
    assert "Whether the ledger has the run's budget is not known" in said
    assert "Nothing was charged" not in said


def test_what_is_refused_says_that_nothing_was_charged(ledger):
    with pytest.raises(BudgetExceededError, match="Nothing was charged") as told:
        dpcore.fit(X, Y, **{**PUBLIC, "epsilon": 9.0}, ledger=ledger.path)
    assert not getattr(told.value, "__notes__", ())


def test_the_end_of_a_run_whose_connection_was_lost_is_written_over_a_new_one(ledger, lost):
    for done in (False, True):
        reservation = ledger.reserve(a_run(0.2), STATED)
        number = reservation.reference["entry"]
        reservation.log.charge(a_release())
        lost.next("COMMIT", done)
        reservation.close("finished")
        assert not lost.broken
        assert ledger.state().runs[number].outcome == "finished"
        assert ledger.state().runs[number].ticks < a_run(0.2).accountant.budget_ticks
    verified(ledger.path)


def lose_the_answer_to_a_release(ledger, lost, monkeypatch):
    """Return a reservation of one release, and one more whose writing was not heard of."""
    monkeypatch.setattr("dpcore_ledger.run_log._PAUSE", 0.0)
    reservation = ledger.reserve(a_run(0.2), STATED)
    reservation.log.charge(a_release())
    lost.next("INSERT INTO main.release", True)
    with pytest.raises(LedgerError):
        reservation.log.charge(a_release())
    assert len(reservation.log) == 1
    return reservation


def test_a_release_that_was_written_and_not_drawn_is_in_the_log(ledger, lost, monkeypatch):
    lose_the_answer_to_a_release(ledger, lost, monkeypatch).close("ended")
    assert verified(ledger.path)[-1].body["releases"] == 2
    each = ledger.state().budgets[0].filter.cost(a_release().event)
    spent = ledger.state().spent(0)
    assert spent.spent == pytest.approx(each)


def test_without_a_look_the_ledger_would_be_said_to_be_altered(ledger, lost, monkeypatch):
    """The broken twin: what was heard of is stated."""
    monkeypatch.setattr(RunLog, "_count_in_what_was_written", lambda self: None)
    lose_the_answer_to_a_release(ledger, lost, monkeypatch).close("ended")
    with pytest.raises(LedgerError, match="altered"):
        verified(ledger.path)


def test_a_release_of_a_session_without_a_budget_is_looked_up(ledger, lost):
    public = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None}

    def ask():
        with open_session(X, Y, **public, ledger=ledger.path) as opened:
            lost.next("COMMIT", True)
            opened.count(share=0.5)

    said = notes_of(ask)
    assert "The ledger has the release's cost, as entry 3." in said
    assert "No release was made" in said and "Nothing was charged" not in said
    (run,) = ledger.state().runs.values()
    assert run.ticks > 0 and run.outcome == "closed"


ROWS = "a,y\n" + "".join(f"{i % 10},{'yes' if i % 10 > 4 else 'no'}\n" for i in range(300))
TRAIN = """
import sys
from dpcore.cli import main
from dpcore.errors import LedgerError
from dpcore_ledger.reservation import Reservation

def close(self, outcome, found):
    raise LedgerError("The ledger cannot be reached.")

Reservation.close = close
sys.argv = ["dpcore", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", [(), ("--quiet",), ("--json",)], ids=["", "quiet", "json"])
def test_a_run_that_is_not_closed_is_an_error_line_however_quiet(file_ledger, tmp_path, mode):
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "schema.toml").write_text(
        f'ledger = {json.dumps(file_ledger.path)}\n[columns]\na = {{ kind = "numeric", lower = 0, '
        'upper = 10 }\ny = { kind = "label", classes = ["no", "yes"] }\n'
    )
    rows = ["--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "schema.toml")]
    asked = [sys.executable, "-c", TRAIN, "train", *rows, "--out", str(tmp_path / "m.json"), *mode]
    done = subprocess.run(asked, capture_output=True, text=True)
    # The model is there, and as private as it says: the ledger counts too much.
    assert done.returncode == 0 and (tmp_path / "m.json").exists()
    (line,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert line.startswith("dpcore: error: the run was not closed. The ledger ")
    assert "has run 1, which is open and counts whole" in line
    assert "nothing is released" not in done.stderr
