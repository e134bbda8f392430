"""The run of a session that is no fit has one session: its budget is charged and told once."""

import numpy as np
import pytest

from dpcore.data.arrays import dataset_from_arrays
from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, NeighboringRelation, RowCount, noise_multiplier
from dpcore.plugin.commands import LedgerRequest, SessionRun
from dpcore.plugin.parts import GdpAccountant, LocalEngine, NoiseSource, TableSession
from dpcore_ledger import TableLedger, Terms


def test_a_second_session_of_a_run_is_refused(tmp_path):
    rows = dataset_from_arrays(np.eye(2), np.array([-1.0, 1.0]), bounds=(0, 1))
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(9.0, 1e-6))
    whole = GdpAccountant.from_budget(1.0, 1e-6)
    request = LedgerRequest(ledger.path, same_table=True)
    run = SessionRun(
        request, ("a probe", whole, NeighboringRelation.ADD_OR_REMOVE_ONE), rows.schema
    )
    asked = TableSession, LocalEngine(rows.table()), NoiseSource.of_seed()
    session = run.opened(*asked)
    mechanism = Gaussian(noise_multiplier(whole, Gaussian.nominal_event, whole.remaining))
    assert np.isfinite(session.release(RowCount("l2"), mechanism)).all()
    # Each would release what the whole budget holds, and the ledger count it once.
    with pytest.raises(InvalidInputError, match="another run"):
        run.opened(*asked)
    assert run.statement().spent == session.accountant.spent
    run.close()
    assert [each.outcome for each in ledger.state().runs.values()] == ["closed"]
