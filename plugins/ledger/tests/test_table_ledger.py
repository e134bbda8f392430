"""A ledger's file: charges, caps, copies and damage."""

import os
import pathlib
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile

import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, DpcoreError, InvalidInputError, LedgerError
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import GaussianDpEvent, GdpAccountant
from dpcore_ledger import TableLedger, Terms, chain
from dpcore_ledger.chain import Chain
from dpcore_ledger.cost import Run
from dpcore_ledger.remaining import shown_down, shown_up
from dpcore_ledger.state import State, state_of, totals_and_run, totals_of
from dpcore_ledger.stores.sqlite import SqliteStore
from dpcore_ledger.verify import verified

ROWS = "add-or-remove-one"
STATED = {"analyst": "", "algorithm": "test", "epsilon": 1.0, "delta": 1e-8}


def a_run(epsilon: float = 1.0) -> Run:
    return Run(ZcdpAccountant.from_budget(epsilon, 1e-8), ROWS, None)


def a_release(multiplier: float = 50.0) -> LedgerEntry:
    event = GaussianDpEvent(multiplier)
    return LedgerEntry(0, "gradient", "gaussian", event, 1 / (2 * multiplier**2))


@pytest.fixture
def ledger(any_ledger) -> TableLedger:
    return any_ledger


def test_a_reservation_is_the_charge(ledger):
    run = a_run()
    ledger.reserve(run, STATED)
    again = TableLedger(ledger.path).state()
    assert again.spent(0).spent_ticks == run.accountant.budget_ticks
    assert [of.outcome for of in again.runs.values()] == ["open"]


def test_the_cap_is_never_passed(ledger):
    made = 0
    with pytest.raises(BudgetExceededError, match="a run of epsilon .* would fit"):
        for _ in range(100):
            ledger.reserve(a_run(), STATED)
            made += 1
    spent = ledger.state().spent(0)
    assert made >= 2
    assert spent.spent_ticks <= spent.budget_ticks
    assert spent.spent_ticks + a_run().accountant.budget_ticks > spent.budget_ticks


def test_what_the_refusal_says_would_fit_fits(ledger):
    for _ in range(4):
        ledger.reserve(a_run(), STATED)
    with pytest.raises(BudgetExceededError) as refused:
        ledger.reserve(a_run(2.0), STATED)
    epsilon = float(str(refused.value).split("a run of epsilon ")[1].split()[0])
    ledger.reserve(a_run(epsilon), STATED)
    with pytest.raises(BudgetExceededError):
        ledger.reserve(a_run(epsilon), STATED)


def test_what_releases_did_not_take_comes_back_when_the_run_is_closed(ledger):
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    reservation.close("finished")
    spent = ledger.state().spent(0)
    assert spent.spent == pytest.approx(1 / (2 * 50.0**2), rel=1e-12)
    with pytest.raises(LedgerError, match="no more releases"):
        reservation.log.charge(a_release())


def test_a_run_over_added_rows_ends_at_the_price_of_two_steps(tmp_path):
    terms = Terms.of(9.0, 1e-6, relation="replace-one")
    ledger = TableLedger.create(tmp_path / "replaced.ledger", terms)
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    reservation.close("finished")
    # A row that is replaced is one removed and one added: twice mu, and four times rho.
    assert ledger.state().spent(0).spent == pytest.approx(4 / (2 * 50.0**2), rel=1e-12)


def test_a_log_that_was_closed_takes_no_release_while_its_run_is_open(ledger):
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.close()
    with pytest.raises(LedgerError, match="no more releases"):
        reservation.log.charge(a_release())


def test_an_entry_is_on_the_disk_when_it_is_there(file_ledger):
    store = SqliteStore(file_ledger.path)
    # 2 is FULL: each commit waits for the disk. NORMAL would lose the last ones with the power, as
    # it may lose releases, whose reservation is counted whole until the run is closed.
    with store.writing() as rows:
        assert rows.execute("PRAGMA synchronous").fetchone() == (2,)
    with store.logging() as rows:
        assert rows.execute("PRAGMA synchronous").fetchone() == (1,)
    store.close()


def test_a_run_of_another_unit_is_charged_whole(ledger):
    own = GdpAccountant.from_budget(1.0, 1e-8)
    reservation = ledger.reserve(Run(own, ROWS, None), STATED)
    before = ledger.state().spent(0).spent_ticks
    reservation.log.charge(a_release())
    reservation.close("finished")
    assert ledger.state().spent(0).spent_ticks == before


def test_a_run_without_a_release_costs_nothing(ledger):
    ledger.reserve(Run(GdpAccountant.from_budget(1.0, 1e-8), ROWS, None), STATED).close("refused")
    assert ledger.state().spent(0).spent_ticks == 0


def test_a_dead_run_is_closed_as_spent(ledger):
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    ledger.close_as_spent(reservation.reference["run"])
    spent = ledger.state().spent(0).spent_ticks
    assert spent == a_run().accountant.budget_ticks
    # It was alive after all: what it gives back is refused.
    with pytest.raises(LedgerError, match="closed while it ran"):
        reservation.close("finished")
    assert ledger.state().spent(0).spent_ticks == spent
    with pytest.raises(InvalidInputError, match="no open run"):
        ledger.close_as_spent(reservation.reference["run"])


def test_a_raise_is_a_budget_of_its_own(ledger):
    with pytest.raises(BudgetExceededError):
        ledger.reserve(a_run(4.0), STATED)
    ledger.raise_cap(Terms.of(5.0, 1e-6))
    ledger.reserve(a_run(4.0), STATED)
    assert ledger.state().spent(0).spent_ticks == 0
    assert ledger.state().spent(1).spent_ticks > 0
    with pytest.raises(InvalidInputError, match="relation and unit"):
        ledger.raise_cap(Terms.of(5.0, 1e-6, relation="replace-one"))


def test_another_table_is_refused_unless_it_is_said_to_be_the_same(ledger):
    def reserve(table, confirmed=False):
        ledger.reserve(a_run(0.01), STATED, table, confirmed)

    reserve({"schema": "a", "n": 10})
    reserve({"schema": "a", "n": 10})
    for other in ({"schema": "b", "n": 10}, {"schema": "a", "n": 11}):
        with pytest.raises(InvalidInputError, match="another schema or number of rows"):
            reserve(other)
    reserve({"schema": "b", "n": 10}, confirmed=True)
    reserve({"schema": "b", "n": 10})
    # Under add-or-remove the number is no public fact, and is not asked for.
    reserve({"schema": "a"})


def test_an_existing_file_is_not_opened_anew(ledger):
    with pytest.raises(LedgerError, match="is there already"):
        TableLedger.create(ledger.path, Terms.of(1.0, 1e-6))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_only_its_owner_reads_it(file_ledger):
    assert stat.S_IMODE(os.stat(file_ledger.path).st_mode) == 0o600


def test_a_file_that_is_none_is_refused(tmp_path):
    path = tmp_path / "other"
    for content in (b"", b"text", b"\0" * 4096):
        path.write_bytes(content)
        with pytest.raises(LedgerError):
            TableLedger(path).state()
    with pytest.raises(LedgerError, match="There is no ledger"):
        TableLedger(tmp_path / "absent").state()


def spend(ledger: TableLedger) -> None:
    """Make a run of two releases and leave another one open."""
    reservation = ledger.reserve(a_run(), STATED)
    reservation.log.charge(a_release())
    reservation.log.charge(a_release(40.0))
    reservation.close("finished")
    ledger.reserve(a_run(0.5), STATED)
    ledger.close()


@pytest.mark.slow
def test_no_flipped_byte_makes_a_ledger_forget(file_ledger, tmp_path):
    spend(file_ledger)
    whole, before = pathlib.Path(file_ledger.path).read_bytes(), file_ledger.state()
    copy, refused = tmp_path / "copy", 0
    for place in range(0, len(whole), 41):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        copy.write_bytes(bytes(flipped))
        try:
            verified(copy)
            state = TableLedger(copy).state()
        except DpcoreError:
            refused += 1
            continue
        assert state == before, place
    assert refused > 20


@pytest.mark.parametrize("column", ["kind", "at", "body", "digest"])
def test_every_column_of_an_entry_is_in_its_digest(ledger, by_hand, column):
    spend(ledger)
    for number, before in by_hand(ledger, f"SELECT number, {column} FROM entry"):
        update = f"UPDATE entry SET {column} = ? WHERE number = ?"
        for after in (f"{before} ", chr(ord(before[:1] or " ") ^ 1) + before[1:]):
            by_hand(ledger, update, (after, number))
            with pytest.raises(LedgerError, match=f"altered at entry {number}"):
                ledger.reserve(a_run(0.01), STATED)
        by_hand(ledger, update, (before, number))
    ledger.reserve(a_run(0.01), STATED)


def test_an_entry_that_is_taken_out_is_missed(ledger, by_hand):
    spend(ledger)
    by_hand(ledger, "DELETE FROM entry WHERE number = 2")
    with pytest.raises(LedgerError, match="altered at entry 2"):
        ledger.reserve(a_run(0.01), STATED)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE release SET body = body || ' ' WHERE place = 1",
        "DELETE FROM release WHERE place = 1",
        "DELETE FROM release WHERE place = 2",
    ],
)
def test_a_release_that_is_altered_or_missing_is_found(ledger, by_hand, statement):
    spend(ledger)
    verified(ledger.path)
    by_hand(ledger, statement)
    with pytest.raises(LedgerError, match="altered"):
        verified(ledger.path)


def rewrite_second_entry(ledger, by_hand, digest):
    """Alter an entry, with a digest that fits it."""
    (row,) = by_hand(ledger, "SELECT number, kind, at, body FROM entry WHERE number = 2")
    ((before,),) = by_hand(ledger, "SELECT digest FROM entry WHERE number = 1")
    number, kind, at, body = row
    body += " "
    new = body, digest(before, number, kind, at, body)
    by_hand(ledger, "UPDATE entry SET body = ?, digest = ? WHERE number = 2", new)


def test_an_entry_under_a_digest_that_fits_it_breaks_the_next_one(ledger, by_hand):
    spend(ledger)
    rewrite_second_entry(ledger, by_hand, chain._digest)
    with pytest.raises(LedgerError, match="altered at entry 3"):
        ledger.state()


@pytest.mark.parametrize(
    "body",
    [
        "[" * 10**5,
        "9" * 5000,
        "{}",
        '{"budget": 7, "ticks": "1", "aside_ticks": "0", "table": null, "stated": {}}',
        '{"budget": 0, "ticks": "' + "9" * 5000 + '", "aside_ticks": "0", "table": null}',
    ],
    ids=lambda body: body[:40],
)
def test_an_entry_that_was_forged_whole_is_refused_in_a_line(ledger, body):
    """Who can write the file can compute its digests."""
    before = Chain(ledger.path).entries()[-1]
    entry = 2, "reserved", "", body
    with ledger.chain.store.writing() as rows:
        rows.execute(
            "INSERT INTO main.entry (number, kind, at, body, digest) VALUES (?, ?, ?, ?, ?)",
            (*entry, chain._digest(before.digest, *entry)),
        )
    for read in (ledger.state, lambda: verified(ledger.path)):
        with pytest.raises(LedgerError, match="that (cannot be read|no run writes)"):
            read()
    with pytest.raises(LedgerError):
        ledger.reserve(a_run(0.01), STATED)


def test_digests_of_single_entries_would_not_tell(file_ledger, by_hand, monkeypatch):
    """The broken twin: each digest is of its own entry alone."""
    honest = chain._digest
    monkeypatch.setattr(chain, "_digest", lambda before, *entry: honest("", *entry))
    ledger = TableLedger.create(f"{file_ledger.path}-twin", Terms.of(2.0, 1e-6))
    spend(ledger)
    rewrite_second_entry(ledger, by_hand, chain._digest)
    ledger.state()


def test_who_closes_a_run_reads_the_totals_and_that_run_as_a_full_reading_does(ledger):
    ended, dead, _ = (ledger.reserve(a_run(0.2), STATED) for _ in range(3))
    ended.log.charge(a_release())
    ledger.close_as_spent(dead.reference["run"])
    ended.close("finished")
    entries = Chain(ledger.path).entries()
    whole = state_of(entries)
    for number, run in whole.runs.items():
        alone = totals_and_run(entries, number)
        assert (alone.charged, alone.runs) == (whole.charged, {number: run})
    assert [run.outcome for run in whole.runs.values()] == ["finished", "died", "open"]


def test_what_an_entry_says_of_the_sum_is_held_against_all_entries(ledger, monkeypatch):
    """A reservation takes the sum from the last entry; a full reading adds up."""
    honest = State.carried
    ledger.reserve(a_run(0.5), STATED)
    spent = ledger.state().spent(0)
    assert totals_of(Chain(ledger.path).entries()).spent(0) == spent
    half = [str(spent.spent_ticks // 2), "0"]
    monkeypatch.setattr(State, "carried", lambda self: {**honest(self), "charged": [half]})
    ledger.reserve(a_run(0.5), STATED)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="Entry 3 of the ledger does not add up"):
        verified(ledger.path)


def test_an_entry_of_a_kind_that_is_not_known_is_refused(ledger):
    ledger.chain.added(lambda entries: ("later", "", {"after": entries[-1].body["after"]}))
    for refused in (ledger.state, lambda: ledger.reserve(a_run(0.1), STATED)):
        with pytest.raises(LedgerError, match="'later': take a newer dpcore"):
            refused()


def test_a_ledger_cut_short_is_refused(file_ledger):
    spend(file_ledger)
    size = os.path.getsize(file_ledger.path)
    for part in (0, 10, size // 2, size - 4096):
        copy = f"{file_ledger.path}-{part}"
        shutil.copy(file_ledger.path, copy)
        os.truncate(copy, part)
        with pytest.raises(LedgerError):
            TableLedger(copy).reserve(a_run(), STATED)


_RESERVE = """
import sys
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import LedgerError
from dpcore_ledger import TableLedger
from dpcore_ledger.cost import Run
from dpcore_ledger.stores import store_at
from dpcore.privacy.first_party import is_ours

is_ours(type(store_at(sys.argv[1])).__module__)
stated = {"analyst": "", "algorithm": "test", "epsilon": 1.0, "delta": 1e-8}
run = Run(ZcdpAccountant.from_budget(0.1, 1e-8), "add-or-remove-one", None)
ledger, user = TableLedger(sys.argv[1]), int(sys.argv[2])
if user:  # Only now, since nobody may be barred from where Python's packages are.
    import os
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
try:
    ledger.reserve(run, stated).close("finished")
    print("reserved")
except LedgerError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize(("folder", "file"), [(0o555, 0o444), (0o777, 0o444), (0o777, 0o666)])
def test_a_ledger_that_cannot_be_written_charges_and_releases_nothing(folder, file):
    """Root may write anything, and is another user for this."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        room = pathlib.Path(name) / "room"
        room.mkdir()
        ledger = TableLedger.create(room / "table.ledger", Terms.of(2.0, 1e-6))
        os.chmod(ledger.path, file)
        os.chmod(room, folder)
        user = 65534 if os.geteuid() == 0 else 0
        asked = [sys.executable, "-c", _RESERVE, ledger.path, str(user)]
        told = subprocess.run(asked, capture_output=True, text=True).stdout
        os.chmod(room, 0o777)
        if file == 0o666:
            assert told == "reserved\n"
        else:
            assert "cannot be written" in told
            os.chmod(ledger.path, 0o600)
            assert not ledger.state().runs


def test_others_who_hold_it_too_long_are_told_of(file_ledger, monkeypatch):
    monkeypatch.setattr("dpcore_ledger.stores.sqlite._WAIT", 0.05)
    held = sqlite3.connect(file_ledger.path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="in use by others"):
        file_ledger.reserve(a_run(), STATED)
    held.execute("ROLLBACK")
    held.close()
    file_ledger.reserve(a_run(), STATED)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits of files are POSIX's")
@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_on_a_full_disk_nothing_is_reserved_and_nothing_released(file_ledger, monkeypatch, pause):
    """A limit on the size of files stands for the disk."""
    import resource

    monkeypatch.setattr("dpcore_ledger.run_log._PAUSE", pause)

    reservation = file_ledger.reserve(a_run(0.1), STATED)
    before = file_ledger.state()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(file_ledger.path), limits[1]))
    try:
        with pytest.raises(LedgerError):
            for _ in range(1000):
                reservation.log.charge(a_release(1e6))
        released = len(reservation.log)
        with pytest.raises(LedgerError):
            for _ in range(1000):
                file_ledger.reserve(a_run(0.001), STATED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    after = file_ledger.state()
    assert after.spent(0).spent_ticks >= before.spent(0).spent_ticks
    assert len(written(reservation, file_ledger)) <= released
    reservation.close("finished")  # There is room again, for what waited too.
    verified(file_ledger.path)
    assert len(written(reservation, file_ledger)) == released


def written(reservation, ledger):
    """Return the releases of a run that are in its ledger."""
    place = reservation.reference["entry"], reservation.reference["digest"]
    return Chain(ledger.path).releases(*place)[0]


def test_releases_are_written_together_and_the_reservation_counts_whole(ledger, monkeypatch):
    """Whatever a process has not written when it is killed, all of its budget is spent."""
    monkeypatch.setattr("dpcore_ledger.run_log._PAUSE", 1e9)
    whole = ledger.reserve(a_run(), STATED)
    reserved = ledger.state().spent(0).spent_ticks
    for place in range(250):
        whole.log.charge(a_release(1e6))
        assert len(whole.log) == place + 1
    # The first at once, so that a ledger that cannot be written is found before any draw, then 200.
    assert len(written(whole, ledger)) == 201
    assert ledger.state().spent(0).spent_ticks == reserved
    verified(ledger.path)
    whole.close("finished")
    assert len(written(whole, ledger)) == 250
    assert ledger.state().spent(0).spent_ticks < reserved
    verified(ledger.path)


def test_nothing_rests_on_the_clock(ledger, monkeypatch):
    ledger.reserve(a_run(), STATED)
    monkeypatch.setattr("dpcore_ledger.table_ledger._now", lambda: "1970-01-01T00:00:00+00:00")
    ledger.reserve(a_run(0.5), STATED)
    assert len(ledger.state().runs) == 2


def test_a_second_name_of_the_file_is_refused(file_ledger):
    os.link(file_ledger.path, f"{file_ledger.path}-too")
    for name in (file_ledger.path, f"{file_ledger.path}-too"):
        with pytest.raises(LedgerError, match="second name"):
            TableLedger(name).reserve(a_run(), STATED)


def test_two_copies_that_are_charged_alike_are_told_apart(file_ledger, monkeypatch):
    monkeypatch.setattr("dpcore_ledger.table_ledger._now", lambda: "")
    shutil.copy(file_ledger.path, f"{file_ledger.path}-copy")
    copies = [TableLedger(path) for path in (file_ledger.path, f"{file_ledger.path}-copy")]
    references = [copy.reserve(a_run(), STATED).reference for copy in copies]
    assert references[0]["run"] == references[1]["run"]
    assert references[0]["digest"] != references[1]["digest"]


@pytest.mark.parametrize("pause", [0.0, 1e9])
def test_a_run_that_others_closed_makes_no_more_releases(ledger, monkeypatch, pause):
    monkeypatch.setattr("dpcore_ledger.run_log._PAUSE", pause)
    reservation = ledger.reserve(a_run(), STATED)
    for _ in range(3):
        reservation.log.charge(a_release())
    TableLedger(ledger.path).close_as_spent(reservation.reference["run"])
    with pytest.raises(LedgerError, match="no more releases"):
        reservation.log.charge(a_release())
    with pytest.raises(LedgerError, match="closed while it ran"):
        reservation.close("finished")
    assert len(written(reservation, ledger)) == (1 if pause else 3)
    verified(ledger.path)


@pytest.mark.parametrize("number", [0.123449999, 0.12345, 1e-9 / 3, 2.0 / 3, 0.0])
def test_numbers_are_shown_on_the_safe_side(number):
    up, down = float(shown_up(number)), float(shown_down(number))
    assert down <= number <= up
    assert up - down <= 1.01e-3 * number
