"""A ledger in a database: addresses, servers that may not be trusted, and connections that end."""

import multiprocessing
import sys
import threading

import pytest
from test_table_ledger import STATED, a_release, a_run
from typer.testing import CliRunner

from dpcore.cli import app
from dpcore.errors import BudgetExceededError, InvalidInputError, LedgerError
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.stores import postgresql
from dpcore_ledger.verify import verified


@pytest.fixture
def ledger(server):
    it = TableLedger.create(server.address(), Terms.of(2.0, 1e-6))
    yield it
    it.close()


SECRET = "s3cret"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@db/tables",
        f"postgresql://ann:{SECRET}/a@db/tables",
        f"postgresql://ann:{SECRET}@b@db/tables",
        f"postgresql://ann:{SECRET}#a@db/tables",
        f"postgresql://ann:{SECRET}?a@db/tables",
        f"postgresql://db/tables?password={SECRET}",
        f"postgresql://db/tables?sslpassword={SECRET}&user=ann",
        f"postgresql:ann:{SECRET}@db",
    ],
)
def test_a_password_is_refused_and_not_repeated(address):
    with pytest.raises(InvalidInputError, match="without a password") as refused:
        TableLedger(address)
    assert SECRET not in str(refused.value)
    shown = CliRunner().invoke(app, ["ledger", "show", address])
    assert shown.exit_code != 0
    assert SECRET not in shown.output


def test_a_schema_has_no_password(tmp_path):
    """A model file has all of the schema, even where another ledger is charged."""
    (tmp_path / "rows.csv").write_text("a,y\n1,no\n2,yes\n")
    (tmp_path / "schema.toml").write_text(
        f'ledger = "postgresql://ann:{SECRET}@db/tables"\n[columns]\na = {{ kind = "numeric", '
        'lower = 0, upper = 10 }\ny = { kind = "label", classes = ["no", "yes"] }\n'
    )
    asked = ["--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "schema.toml")]
    done = CliRunner().invoke(app, ["train", *asked, "--ledger", "other", "--epsilon", "1"])
    assert done.exit_code == 2
    assert "without a password" in done.output
    assert SECRET not in done.output


def test_an_address_without_a_server_is_said_to_be_one(tmp_path):
    pytest.importorskip("psycopg", reason="psycopg is not installed: dpcore[postgresql]")
    with pytest.raises(LedgerError, match="cannot be reached"):
        TableLedger(f"postgresql:///tables?host={tmp_path}").reserve(a_run(), STATED)
    with pytest.raises(InvalidInputError, match="is no address"):
        TableLedger("postgresql://db/tables?colour=red").state()


def test_without_psycopg_it_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for asked in (["init", "postgresql://db/t", "--epsilon", "1"], ["show", "postgresql://db/t"]):
        done = CliRunner().invoke(app, ["ledger", *asked])
        assert done.exit_code == 2 and "pip install 'dpcore[postgresql]'" in done.output


@pytest.mark.slow
def test_the_command_line_opens_and_raises_one(server):
    run, address = CliRunner().invoke, server.address()
    opened = run(app, ["ledger", "init", address, "--epsilon", "2"])
    assert opened.output.startswith(f"Opened {address}: all runs that it lists are together (2, ")
    again = run(app, ["ledger", "init", address, "--epsilon", "2"])
    assert again.exit_code == 2
    assert "is there already" in again.output
    raised = run(app, ["ledger", "raise", address, "--epsilon", "1"])
    assert "(3, 2e-06)" in raised.output
    ledger = TableLedger(address)
    number = ledger.reserve(a_run(), STATED).reference["run"]
    ledger.close()
    assert run(app, ["ledger", "close", address, str(number)]).exit_code == 0
    assert "died" in run(app, ["ledger", "show", address]).output


@pytest.mark.slow
def test_ledgers_of_one_database_are_apart(ledger, server):
    other = TableLedger.create(server.address(), Terms.of(2.0, 1e-6))
    ledger.reserve(a_run(), STATED)
    assert len(ledger.state().runs) == 1
    assert not other.state().runs
    other.close()


@pytest.mark.parametrize("name", ["absent", "user"])
def test_a_ledger_that_is_not_there_is_not_made(server, name):
    with pytest.raises(LedgerError, match="There is no ledger"):
        TableLedger(f"{server.database}&ledger={name}").reserve(a_run(), STATED)


def test_another_schema_is_no_ledger(server):
    with pytest.raises(LedgerError, match="is no ledger of dpcore"):
        TableLedger(f"{server.database}&ledger=public").reserve(a_run(), STATED)


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_may_forget_is_refused(ledger, server, name):
    def switch(value):
        server.connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        server.connection.execute("SELECT pg_reload_conf()")
        while server.connection.execute(f"SHOW {name}").fetchone() != (value,):
            pass

    ledger.close()
    switch("off")
    try:
        with pytest.raises(LedgerError, match=f"{name} = off"):
            ledger.reserve(a_run(), STATED)
    finally:
        switch("on")
    assert not ledger.state().runs


def test_a_commit_waits_for_the_disk_where_the_database_says_no(ledger, server, monkeypatch):
    seen = []
    honest = postgresql._Connection.execute

    def execute(self, statement, values=()):
        if statement == "COMMIT":
            seen.append(honest(self, "SHOW synchronous_commit").fetchone()[0])
        return honest(self, statement, values)

    monkeypatch.setattr(postgresql._Connection, "execute", execute)
    server.connection.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        ledger.close()
        ledger.reserve(a_run(), STATED).close("finished")
    finally:
        server.connection.execute("ALTER DATABASE postgres RESET synchronous_commit")
    assert seen == ["on", "on"]


def test_others_who_hold_it_too_long_are_told_of(ledger, server, monkeypatch):
    monkeypatch.setattr(postgresql, "_WAIT", 0.05)
    schema = ledger.path.rpartition("=")[2]
    with server.connection.transaction():
        server.connection.execute(postgresql._LOCK.replace("main.", f"{schema}."))
        with pytest.raises(LedgerError, match="in use by others"):
            ledger.reserve(a_run(), STATED)
    ledger.reserve(a_run(), STATED)


def test_a_lock_that_is_not_kept_makes_nobody_pass_the_cap(ledger, monkeypatch):
    """Two who decided on the same entries write one number, which the key refuses to the second."""
    monkeypatch.setattr(postgresql, "_LOCK", "SELECT 1")
    both, refused = threading.Barrier(2), []

    def together():
        it = TableLedger(ledger.path)

        def decide(_):
            both.wait(30)
            return "outside", "", {"stated": {}}

        try:
            it.add(decide)
        except LedgerError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=together) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refused) == 1 and "Try again" in refused[0]
    assert len(verified(ledger.path)) == 2


def lose_connections(server):
    server.connection.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE application_name = 'dpcore'"
    )


def test_a_lost_connection_releases_nothing_and_gives_nothing_back(ledger, server):
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    lose_connections(server)
    with pytest.raises(LedgerError, match="nothing is released"):
        reservation.log.charge(a_release())
    assert len(reservation.log) == 1
    # The connection that the run began with is lost too: the run is closed over a new one.
    reservation.close("finished")
    (run,) = ledger.state().runs.values()
    assert run.outcome == "finished" and 0 < run.ticks < a_run().accountant.budget_ticks
    assert verified(ledger.path)[-1].body["releases"] == 1


def test_a_run_whose_server_is_gone_stays_as_it_was_reserved(ledger, server, monkeypatch):
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    lose_connections(server)
    for kept in (ledger.store._main, ledger.store._log):
        monkeypatch.setattr(kept, "_connect", unreachable)
    with pytest.raises(LedgerError, match="cannot be reached"):
        reservation.close("finished")
    assert "cannot be read now" in reservation.standing()
    found = TableLedger(ledger.path)
    assert found.state().spent(0).spent_ticks == a_run().accountant.budget_ticks
    found.close_as_spent(reservation.reference["run"])
    verified(ledger.path)


def unreachable():
    import psycopg

    raise psycopg.OperationalError("connection refused")


def test_a_connection_lost_before_the_commit_charges_nothing(ledger, server):
    def decide(_):
        lose_connections(server)
        return "outside", "", {"stated": {}}

    with pytest.raises(LedgerError, match="nothing is released"):
        ledger.add(decide)
    assert len(verified(ledger.path)) == 1


def reserve_in_child(ledger, found):
    try:
        ledger.reserve(a_run(1.0), STATED)
        found.put("reserved")
    except BudgetExceededError:
        found.put("refused")


def test_a_forked_child_has_a_connection_of_its_own(ledger):
    context = multiprocessing.get_context("fork")
    reservation, found = ledger.reserve(a_run(1.0), STATED), context.Queue()
    reservation.log.charge(a_release())
    children = [context.Process(target=reserve_in_child, args=(ledger, found)) for _ in range(2)]
    for child in children:
        child.start()
    told = [found.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
    reservation.log.charge(a_release())
    reservation.close("finished")
    assert len(ledger.state().runs) == 1 + told.count("reserved")
    verified(ledger.path)


def test_who_was_granted_nothing_is_told_what_is_missing(ledger, server):
    schema = ledger.path.rpartition("=")[2]
    as_bob = ledger.path.replace("ann@", "bob@")
    run = server.connection.execute
    run("DROP ROLE IF EXISTS bob")
    run("CREATE ROLE bob LOGIN")
    try:
        with pytest.raises(LedgerError, match="USAGE on the schema"):
            TableLedger(as_bob).reserve(a_run(0.1), STATED)
        run(f"GRANT USAGE ON SCHEMA {schema} TO bob")
        with pytest.raises(LedgerError, match="SELECT and INSERT"):
            TableLedger(as_bob).reserve(a_run(0.1), STATED)
        run(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO bob")
        reservation = TableLedger(as_bob).reserve(a_run(0.1), STATED)
        reservation.log.charge(a_release())
        reservation.close("finished")
        assert len(ledger.state().runs) == 1
    finally:
        ledger.close()
        run("DROP OWNED BY bob")
        run("DROP ROLE bob")


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"dpcore\[postgresql\]"):
        TableLedger("postgresql://db/tables").state()
