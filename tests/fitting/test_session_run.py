"""The run of a session that is no fit: charged once, and the ledger told what that is worth."""

import numpy as np
import pytest

from dpcore.data.arrays import dataset_from_arrays
from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, NeighboringRelation, RowCount, noise_multiplier
from dpcore.plugin.commands import LedgerRequest, SessionRun
from dpcore.plugin.parts import GdpAccountant, LocalEngine, NoiseSource, TableSession
from dpcore_ledger import TableLedger, Terms

ROWS = dataset_from_arrays(np.eye(2), np.array([-1.0, 1.0]), bounds=(0, 1))
WHOLE = GdpAccountant.from_budget(1.0, 1e-6)
MECHANISM = Gaussian(noise_multiplier(WHOLE, Gaussian.nominal_event, WHOLE.remaining))


@pytest.fixture
def ledger(tmp_path) -> TableLedger:
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(9.0, 1e-6))


def run_in(ledger, **known):
    about = "a probe", WHOLE, NeighboringRelation.ADD_OR_REMOVE_ONE
    return SessionRun(LedgerRequest(ledger.path), about, ROWS.schema, **known)


def opened(run):
    return run.opened(TableSession, LocalEngine(ROWS.table()), NoiseSource.of_seed())


def test_a_second_session_of_a_run_is_refused(ledger):
    run = run_in(ledger)
    session = opened(run)
    session.release(RowCount("l2"), MECHANISM)
    # Each would release what the whole budget holds, and the ledger count it once.
    with pytest.raises(InvalidInputError, match="another run"):
        opened(run)
    assert run.statement().spent == session.accountant.spent > 0


@pytest.mark.parametrize("way", ["close", "closing"])
def test_either_way_of_closing_tells_the_ledger_on_what_the_guarantee_rests(ledger, way):
    run = run_in(ledger, typed_by="frame", trusted=("somebody.elses:Part",))
    if way == "close":
        opened(run)
        run.close()
    else:
        with run.charged.closing():
            opened(run)
    (closed,) = ledger.state().runs.values()
    assert closed.found["typed_by"] == "frame" and "somebody.elses:Part" in closed.found["parts"]


def test_a_run_that_opened_no_session_is_closed(ledger):
    run = run_in(ledger)
    run.close()
    (closed,) = ledger.state().runs.values()
    assert (closed.outcome, closed.ticks) == ("closed", 0)
