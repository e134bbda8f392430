"""A backend that is frozen, or a server that is: given up after some seconds without a byte."""

import os
import re
import signal
import threading

import pytest
from test_table_ledger import STATED, a_release, a_run

from dpcore.errors import LedgerError
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.verify import verified

pytest.importorskip("psycopg", reason="psycopg is not installed: dpcore[postgresql]")
from dpcore_ledger.stores import patient, postgresql

SECONDS = 60.0
"""After which a client that hangs is a fault of the test."""


@pytest.fixture
def ledger(server):
    it = TableLedger.create(server.address(), Terms.of(2.0, 1e-6))
    yield it
    it.close()


@pytest.fixture
def freeze(server, monkeypatch):
    """A function that stops the backends of ledgers, or whatever is named; they go on at the end,
    or when what it returns is called."""
    monkeypatch.setattr(patient, "SILENCE", 0.5)
    monkeypatch.setitem(postgresql._SILENCE, "connect_timeout", "2")
    monkeypatch.setattr(postgresql, "_WAIT", 1.0)
    stopped = []

    def thaw():
        while stopped:
            os.kill(stopped.pop(), signal.SIGCONT)

    def stop(*processes):
        if not processes:
            asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dpcore'"
            processes = [pid for (pid,) in server.connection.execute(asked).fetchall()]
            assert processes
        for process in processes:
            os.kill(process, signal.SIGSTOP)
            stopped.append(process)
        return thaw

    yield stop
    thaw()


def ended(act):
    """Return the error that ends an act, which a thread of its own is not to hang in."""
    found = []

    def work():
        try:
            act()
        except BaseException as error:
            found.append(error)
        else:
            found.append(None)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert found, "the client waits for a frozen server"
    return found[0]


def told(act, words="cannot be reached or written .no answer for 0.5 seconds"):
    error = ended(act)
    assert isinstance(error, LedgerError), error
    assert re.search(words, str(error)), error
    return error


def test_a_frozen_backend_is_given_up_at_a_release_and_at_the_end(ledger, freeze):
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    freeze()
    told(lambda: reservation.log.charge(a_release()))
    # Others are not frozen: the run is closed over a new connection.
    assert ended(lambda: reservation.close("finished")) is None
    (run,) = ledger.state().runs.values()
    assert run.outcome == "finished"
    verified(ledger.path)


def test_one_that_freezes_before_the_commit_of_a_reservation_leaves_it_open(ledger, freeze):
    def decide(state):
        freeze()
        return "outside", "", {"stated": {}}

    error = told(lambda: ledger.add(decide))
    # It has the ledger's lock, and the COMMIT before it: it may be written yet.
    (note,) = error.__notes__
    assert "is not known, since it cannot be read now" in note


def test_one_that_goes_on_has_charged_or_not_and_it_is_said(ledger, freeze):
    thaw = []

    def decide(state):
        thaw.append(freeze())
        return "outside", "", {"stated": {}}

    honest = ledger.chain.settled

    def settled():
        thaw[0]()
        return honest()

    ledger.chain.settled = settled
    (note,) = told(lambda: ledger.add(decide)).__notes__
    entries = verified(ledger.path)
    has_it = "The ledger has the run that is outside, as entry 2." in note
    assert has_it == (len(entries) == 2) and (has_it or "does not have" in note)


ACTS = {"read": TableLedger.state, "reserved": lambda ledger: ledger.reserve(a_run(0.1), STATED)}


@pytest.mark.parametrize("act", ACTS)
def test_a_ledger_is_not_waited_for_for_ever(ledger, freeze, server, act):
    ledger.reserve(a_run(0.1), STATED)  # Its connection stays open.
    freeze()
    told(lambda: ACTS[act](ledger))
    freeze(server.process.pid)  # Which answers new connections.
    told(lambda: ACTS[act](TableLedger(ledger.path)), "cannot be .*connection timeout expired")


def test_a_plain_connection_would_wait(ledger, freeze, monkeypatch):
    """The broken twin: psycopg's own connection, with the settings of TCP alone."""
    import psycopg

    monkeypatch.setattr(patient, "PatientConnection", psycopg.Connection)
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    thaw = freeze()
    found = []
    thread = threading.Thread(target=lambda: found.append(ledger.state()), daemon=True)
    thread.start()
    thread.join(3.0)
    assert not found
    thaw()
    thread.join(SECONDS)
    assert len(found) == 1


def test_seconds_count_from_the_last_byte(ledger, monkeypatch):
    """What takes long and is heard of is waited for."""
    monkeypatch.setattr(patient, "SILENCE", 0.5)
    opened = ledger.store._connected("on")
    try:
        slow = "SELECT repeat('x', 2000), pg_sleep(0.02) FROM generate_series(1, 50)"
        assert len(opened.execute(slow).fetchall()) == 50
        with pytest.raises(Exception, match="no answer for 0.5 seconds"):
            opened.execute("SELECT pg_sleep(30)")
    finally:
        opened.close()
