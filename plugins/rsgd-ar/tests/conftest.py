"""A run of an optimizer, with all that it released."""

import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic, SeededNoise
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import make_problem

REPLACE = NeighboringRelation.REPLACE_ONE


@pytest.fixture(scope="session")
def run():
    """Return a function that runs an optimizer on a few rows: its session and solution."""

    def run_once(optimizer, rows=None, accountant=None, loss=None, l2=0.01, seed=3):
        rows = rows or make_rows(300)
        accountant = accountant or SingleReleaseAccountant.from_budget(1.0, 1e-6)
        problem = make_problem(rows, REPLACE, loss or Logistic(), l2=l2)
        session = RecordingSession(rows.table(), accountant, REPLACE, SeededNoise(seed))
        return session, optimizer.minimize(problem, session)

    return run_once
