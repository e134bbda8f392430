"""Runs of DP-AGD on made rows, and on scripted answers."""

import numpy as np

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic, SeededNoise
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_lab.checks import (
    RecordingSession,
    make_rows,
)
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
E0, E1 = np.array([100.0, 0, 0, 0, 0]), np.array([0, 100.0, 0, 0, 0])


def recorded(optimizer, rows, relation=ADD, loss=None, l2=0.01, accountant=None, n0=400, seed=3):
    problem = make_problem(rows, relation, loss or Logistic(), l2=l2, n0=n0)
    accountant = accountant or ZcdpAccountant.from_budget(1.0, 1e-6)
    session = RecordingSession(rows.table(), accountant, relation, SeededNoise(seed))
    return session, optimizer.minimize(problem, session)


class Script:
    """A session that gives scripted answers and keeps the questions."""

    def __init__(self, answers, epsilon=1.0):
        self.accountant = ZcdpAccountant.from_budget(epsilon, 1e-6)
        self.answers, self.queries, self.costs, self.ledger = list(answers), [], [], []

    def release(self, query, mechanism):
        sensitivity = query.sensitivity(ADD)
        event = mechanism.event(sensitivity)
        if not self.answers:
            raise BudgetExceededError("The script ends.")
        self.queries.append(query)
        self.costs.append(float(self.accountant.cost(event)))
        self.accountant = self.accountant.compose(event)
        self.ledger.append(event)
        return self.answers.pop(0)

    def dry_run(self, query):
        """Load nothing."""


def scripted(answers, l2=0.0, **options):
    problem = make_problem(make_rows(4), ADD, Logistic(), l2=l2, n0=400)
    session = Script(answers)
    optimizer = DpAgd(**{"steps": 10, "clip": 1.0, "momentum": 0.0, "averaging": -1.0, **options})
    return session, optimizer.minimize(problem, session)
