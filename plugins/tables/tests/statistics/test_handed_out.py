"""What a session shows of itself is the same on neighbouring tables with equal releases, but for
what it keeps to itself: it holds the rows, and can be neither pickled nor copied."""

import pytest
from odd_rows import KINDS, LABEL, NUMBER, OBJECTS, frame_of, good_cells, is_legal, schema_of
from traces import Replay, differences, of_objects

from dpcore import Schema
from dpcore.plugin import Gaussian, RowCount
from dpcore_tables.statistics.opening import open_session


def shown(session):
    """Return the public attributes that are no methods."""
    public = {name: getattr(session, name) for name in dir(session) if name[0] != "_"}
    return {name: value for name, value in public.items() if not callable(value)}


def assert_alike(ask, schema, tables):
    """Assert that sessions over the tables show and tell the same, with the releases of the
    first."""
    replay, found = Replay(), []
    for rows in tables:
        given = Schema.from_dict(schema)
        with replay.run(), open_session(rows, schema=given, epsilon=1.0, seed=1) as session:
            told = ask(session)
            handed_out = {"told": told, "statement": session.statement(), "given": given}
            found.append(of_objects(handed_out | shown(session)))
    assert {name for name, _ in found[0]} >= {"schema", "problem", "accountant", "ledger"}
    for other in found[1:]:
        assert differences(found[0], other) == []


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "private bounds"])
def test_sessions_over_every_kind_of_column(kind):
    good = good_cells(kind)
    odd = [cell for cell in OBJECTS[::2] if is_legal(kind, cell)]
    tables = [frame_of(good), *(frame_of([*good, cell]) for cell in odd)]
    assert_alike(lambda session: session.count(share=0.5), schema_of(kind), tables)


COLUMNS = {
    "x": NUMBER | {"fill": 3},
    "c": {"kind": "categorical", "categories": ["a", "b"], "indicator": True},
    "y": LABEL,
}


def test_sessions_that_told_much():
    def ask(session):
        session.release(RowCount("l2"), Gaussian(50.0))
        parts = session.parts("c")
        of_part = [parts[level].count(share=0.1) for level in ("a", "b", None)]
        counts = session.histogram("c", share=0.1), session.histogram("x", [0, 9], share=0.1)
        sums = session.mean("x", share=0.1), session.covariance("x", share=0.1)
        quantiles = session.quantiles("x", [0.2, 0.7], share=0.1)
        shown_of_parts = [shown(parts[level]) for level in ("a", "b", None)]
        return of_part, counts, sums, quantiles, shown_of_parts

    def table(*more):
        rows = frame_of(["3"] * 6 + [x for x, _ in more])
        return rows.assign(c=["a"] * 6 + [c for _, c in more])

    odd = [("", "a"), (None, "zz"), ("99", ""), ("3", None), ("  ", "b")]
    assert_alike(ask, {"columns": COLUMNS}, [table(), *map(table, odd)])
