"""Answers of derived queries, and runs that are asked again of other rows."""

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine
from dpcore_lab.checks import ReplaySession, make_rows
from dpcore_lab.made_tables.tables import neighbours
from dpcore_lab.replay.replay import assert_within

__all__ = ["answer", "assert_faithful_and_within"]

REPLACE = NeighboringRelation.REPLACE_ONE


def answer(query, rows):
    """Return the exact answer, by those that the query is derived from."""
    engine = LocalEngine(rows.table())

    def ask(part):
        return part.derive(ask, None) if hasattr(part, "derive") else engine.answer(part)

    return ask(query)


def assert_faithful_and_within(optimizer, problem, rows, recorded, solution, accountant):
    """Replay what 60 rows were answered on their neighbours and on other rows: the same is asked
    and found, and on a neighbour no exact answer moves further than was declared."""
    for other in [*neighbours(rows, REPLACE, seed=4), make_rows(60, seed=9)]:
        replay = ReplaySession(recorded.records, other.table(), accountant(), REPLACE)
        again = optimizer.minimize(problem, replay)
        replay.assert_faithful()
        assert again.w.tobytes() == solution.w.tobytes() and again.details == solution.details
        if len(other.y) == 60 and (other.X != rows.X).any(axis=1).sum() <= 1:
            for asked, exact in zip(recorded.records, replay.exacts, strict=True):
                assert_within(asked.exact, exact, asked.sensitivity, asked.query[:40])
