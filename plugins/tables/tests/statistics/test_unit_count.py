"""The number of units: each counts 1, whatever the number of its rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, NeighboringRelation, RowCount
from dpcore.plugin.parts import LocalEngine, Logistic, SeededNoise, Table, TableSession
from dpcore.session.unit_sensitivity import sensitivity_of_units
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_tables.statistics import open_session
from dpcore_tables.statistics.unit_count import UnitCount

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
K = 3
SIZES = np.array([3, 1, 2, 3, 3, 1])
SCHEMA = {
    "unit": "id",
    "rows_per_unit": K,
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["n", "p"]},
    },
}


def table_of(sizes):
    units = np.repeat(np.arange(sizes.size), sizes)
    X, y = np.ones((units.size, 1)), np.ones(units.size)
    return Table.from_matrix(X, y, row_norm=1.0, raw_norm_bound=1.0, units=units)


def most_moved(query, relation):
    """Return how far a unit of any size moves the count when it is removed, or replaced by one."""
    (whole,) = LocalEngine(table_of(SIZES)).answer(query)
    moved = []
    for unit, rows in enumerate(SIZES):
        others = np.delete(SIZES, unit)
        sizes = [others] if relation is ADD else [np.append(others, k) for k in {1, 2, 3} - {rows}]
        moved += [abs(whole - LocalEngine(table_of(some)).answer(query)[0]) for some in sizes]
    return max(moved)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_unit_counts_once_whatever_its_rows(relation, norm):
    query = UnitCount(norm)
    stated = sensitivity_of_units(query, relation, K)
    assert stated.bound == 1.0 and stated.norm == norm and stated.relation is relation
    assert most_moved(query, relation) <= stated.bound
    assert LocalEngine(table_of(SIZES)).answer(query).tolist() == [SIZES.size]
    check_query(lambda problem: UnitCount(norm))


class Rows(RowCount):
    """A broken twin: it counts rows, and states what a unit does to a number of units."""

    clips_units = True


def test_a_count_of_rows_that_states_one_for_a_unit_is_found():
    bound = sensitivity_of_units(Rows(), ADD, K).bound
    assert most_moved(Rows(), ADD) == K > bound
    assert most_moved(Rows(), REPLACE) == K - 1 > bound


def test_a_table_without_units_is_not_asked_in_a_run_over_units():
    # Each of its rows counted as a unit, 50 of them for one person, at a sensitivity of 1.
    rows = make_rows(50)
    problem = replace(make_problem(rows, ADD, Logistic()), n=None, rows_per_unit=50)
    accountant = ZcdpAccountant.from_budget(4.0, 1e-6)

    def opened(engine):
        return TableSession(engine, accountant, ADD, SeededNoise(1), problem=problem)

    class SumsAlone:
        def answer(self, query):
            raise AssertionError("asked")

    for engine, said in ((LocalEngine(rows.table()), "units="), (SumsAlone(), "adds up whole")):
        session = opened(engine)
        with pytest.raises(InvalidInputError, match=said):
            session.release(UnitCount(), Gaussian(2.0))
        assert not session.ledger
    opened(LocalEngine(table_of(SIZES))).release(UnitCount(), Gaussian(2.0))


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.random(1000)
    ids = [f"p{int(i)}" for i in rng.integers(0, 200, 1000)]
    return pd.DataFrame({"id": ids, "x": x, "y": np.where(x > 0.5, "p", "n")})


@pytest.mark.parametrize("accountant", ["zcdp", "pure"])
def test_a_session_counts_units(frame, accountant):
    with open_session(frame, schema=SCHEMA, epsilon=1e6, accountant=accountant) as session:
        assert abs(session.count_units(share=0.5) - frame["id"].nunique()) < 0.51
        assert session.releases == {"units": 1}
    with open_session(frame, schema=SCHEMA, epsilon=1.0, accountant=accountant) as session:
        session.count_units(share=0.5)
        assert abs(session.accountant.spent / session.accountant.budget - 0.5) < 1e-9


def test_where_there_is_no_such_secret_it_is_refused(frame):
    rows = {"columns": SCHEMA["columns"]}
    with open_session(frame[["x", "y"]], schema=rows) as session:
        with pytest.raises(InvalidInputError, match=r"no unit.*count\(\)"):
            session.count_units(share=0.5)
    with open_session(frame, schema=SCHEMA, relation="replace-one") as session:
        with pytest.raises(InvalidInputError, match="number of units is public under replace-one"):
            session.count_units(share=0.5)
        assert session.ledger == ()
