"""A ledger that may be read and not written: nothing is reserved, and nothing released."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import LedgerError
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import Account, GaussianDpEvent
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.cost import Run
from dpcore_ledger.verify import verified

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="modes and forks are POSIX's")
_NOBODY = 65534
STATED = {"analyst": "", "algorithm": "test", "epsilon": 1.0, "delta": 1e-8}
OWN = ZcdpAccountant.from_budget(0.1, 1e-8)


@pytest.fixture
def folder():
    """Return a folder that whoever is not its owner may read."""
    path = tempfile.mkdtemp()
    os.chmod(path, 0o755)
    yield Path(path)
    os.chmod(path, 0o755)
    shutil.rmtree(path)


def released(log) -> bool:
    """Return whether a release that is charged to a log is drawn."""
    drawn = []
    entry = LedgerEntry(0, "gradient", "gaussian", GaussianDpEvent(1000.0), 5e-7)
    try:
        Account(OWN, log).charge_then_draw(entry.event, lambda: entry, lambda: drawn.append(1))
    except LedgerError:
        return bool(drawn)
    return True


def reserved(ledger) -> bool:
    try:
        ledger.reserve(Run(OWN, "add-or-remove-one", None), STATED)
    except LedgerError:
        return False
    return True


def as_a_reader(act, path) -> bool:
    """Return what ``act`` does, in a child of this process that may not write the file."""
    os.chmod(path, 0o444)
    os.chmod(os.path.dirname(path), 0o555)
    child = os.fork()
    if child == 0:
        code = 2
        try:
            if os.geteuid() == 0:
                os.setuid(_NOBODY)
            code = int(act())
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 1), "the act itself failed"
    return bool(code)


def test_on_a_file_that_is_read_only_nothing_is_reserved_and_nothing_drawn(folder):
    ledger = TableLedger.create(folder / "table.ledger", Terms.of(2.0, 1e-6))
    reservation = ledger.reserve(Run(OWN, "add-or-remove-one", None), STATED)
    before = len(verified(ledger.path))
    ledger.close()
    assert not as_a_reader(lambda: reserved(TableLedger(ledger.path)), ledger.path)
    assert not as_a_reader(lambda: released(reservation.log), ledger.path)
    assert len(verified(ledger.path)) == before


def test_a_log_in_memory_would_draw_all_the_same(folder):
    """The broken twin: releases that are kept in memory, to be written when there is time."""
    from dpcore.plugin.parts import ChargeLog

    ledger = TableLedger.create(folder / "table.ledger", Terms.of(2.0, 1e-6))
    assert as_a_reader(lambda: released(ChargeLog()), ledger.path)
