"""Statistics of log and date columns, of two columns, and of rows with listed levels."""

import datetime
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import NeighboringRelation, RowCount
from dpcore_tables.statistics import NumericColumn, NumericSums, numeric_column, open_session

RNG = np.random.default_rng(5)
N = 4000
FRAME = pd.DataFrame(
    {
        "income": np.exp(RNG.normal(10, 1, N)),
        "born": np.datetime64("1970-03-01") + RNG.integers(0, 12_000, N),
        "age": RNG.integers(0, 91, N),
        "city": RNG.choice(["Bern", "Basel", "Genf"], N),
        "sex": RNG.choice(["f", "m"], N),
    }
)
COLUMNS = {
    "income": {"kind": "numeric", "lower": 100, "upper": 1e7, "scale": "log"},
    "born": {"kind": "date", "lower": "1960-01-01", "upper": "2010-01-01", "parts": ["month"]},
    "age": {"kind": "numeric", "lower": 0, "upper": 90},
    "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "sex": {"kind": "label", "classes": ["f", "m"]},
}
SCHEMA = Schema.from_dict({"columns": COLUMNS})
WOMEN = FRAME[FRAME["sex"] == "f"]


def opened(frame=FRAME, **options):
    """A session whose noise is next to nothing, so that answers are told from exact ones."""
    options = {"rho": 1e10, **options}
    return open_session(frame, schema=SCHEMA, **options)


def alike(found, exact):
    """Whether counts are those, as noise of next to nothing that was floored leaves them."""
    return np.abs(np.asarray(found) - np.asarray(exact)).max() <= 1


def test_a_log_column_has_the_mean_and_the_bins_of_its_numbers():
    with opened() as session:
        (mean,) = session.mean("income", share=0.1)
        edges = [100, 5_000, 20_000, 60_000, 1e7]
        counts = session.histogram("income", edges, share=0.1)
        (found,) = session.sum("income", share=0.1)
        spread = session.covariance("income", "age", share=0.1)
    income = FRAME["income"]
    assert mean == pytest.approx(income.mean(), rel=1e-3)
    assert found == pytest.approx(income.sum(), rel=1e-3)
    assert np.abs(counts - np.histogram(income, edges)[0]).max() < 5
    wanted = np.cov(income, FRAME["age"], bias=True)
    assert spread[0, 0] == pytest.approx(wanted[0, 0], rel=0.01)


def test_the_table_of_a_log_column_is_of_its_steps_alone():
    column = NumericColumn(0, 100, 1e7, "log")
    values = column.value_at(np.arange(2**16 + 1) / 2**16)
    assert values[[0, -1]] == pytest.approx([100, 1e7]) and (np.diff(values) > 0).all()
    # numpy's own logarithm as the reference, to a step.
    steps = column.public_steps(values[::97])
    reference = 2**16 * np.log(values[::97] / 100) / np.log(1e5)
    assert np.abs(steps - reference).max() <= 1.5
    with pytest.raises(InvalidInputError, match="finite numbers"):
        column.public_steps([np.inf])


def test_dates_have_means_bins_and_quantiles():
    days = FRAME["born"].to_numpy().astype("datetime64[D]")
    edges = ["1960-01-01", datetime.date(1980, 1, 1), np.datetime64("1990-01-01"), "2010-01-01"]
    with opened() as session:
        (mean,) = session.mean("born", share=0.1)
        counts = session.histogram("born", edges, share=0.1)
    assert abs(int((mean - days.astype(int).mean().astype("datetime64[D]")).astype(int))) <= 1
    places = np.searchsorted(np.array(edges, dtype="datetime64[D]"), days, side="right") - 1
    assert alike(counts, np.bincount(places, minlength=3))
    with open_session(FRAME, schema=SCHEMA, epsilon=1.0) as session:
        low, high = session.quantiles("born", [0.1, 0.9], share=0.9)
    assert low.dtype == np.dtype("datetime64[D]") and low < np.datetime64("1975-01-01") < high


def test_every_day_is_told_from_its_neighbours():
    days = pd.date_range("1960-01-01", "2010-01-01")
    column = numeric_column(SCHEMA, "born")
    steps = column.public_steps(column.public_values("days", [*days.to_numpy()]))
    assert (np.diff(steps) > 0).all()
    frame = pd.DataFrame({"born": days, **dict.fromkeys(("income", "age"), 500), "sex": "f"})
    with opened(frame.assign(city="Bern")) as session:
        counts = session.histogram("born", [*days[:3].to_numpy(), days[-1]], share=0.5)
    assert alike(counts, [1, 1, len(days) - 2])


def test_two_way_tables_are_crosstabs():
    with opened() as session:
        found = session.table("city", "sex", share=0.2)
        ages = session.table("age", "city", edges={"age": [0, 30, 90]}, share=0.2)
    exact = pd.crosstab(FRAME["city"], FRAME["sex"]).loc[["Bern", "Basel"], ["f", "m"]]
    assert alike(found, exact)
    older = pd.crosstab(FRAME["age"] >= 30, FRAME["city"])
    assert alike(ages, older[["Bern", "Basel"]])


def test_a_condition_asks_of_the_rows_that_meet_it():
    with opened() as session:
        women = {"sex": "f"}
        assert alike(session.count(where=women, share=0.1), len(WOMEN))
        (mean,) = session.mean("age", where=women, share=0.1)
        in_two = session.count(where={"city": ["Bern", "Basel"], "sex": "f"}, share=0.1)
        counts = session.histogram("city", where=women, share=0.1)
        assert session.count(share=0.1) == pytest.approx(N, abs=1)
        assert [entry.part for entry in session.ledger] == [None] * 5
        assert "sex" not in str(session.statement()["releases"])
    assert mean == pytest.approx(WOMEN["age"].mean(), rel=1e-3)
    assert alike(in_two, (WOMEN["city"] != "Genf").sum())
    assert alike(counts, [(WOMEN["city"] == x).sum() for x in ("Bern", "Basel")])


def test_conditions_add_up_to_the_budget():
    # Parts of one column would cost the largest of their costs; conditions may overlap.
    with open_session(FRAME, schema=SCHEMA, rho=0.1) as session:
        session.count(where={"sex": "f"}, share=0.6)
        with pytest.raises(BudgetExceededError):
            session.count(where={"sex": "m"}, share=0.6)
        assert session.accountant.spent == pytest.approx(0.06)


def selected_sums(frame):
    met = frame[frame["sex"] == "f"]
    cells = np.clip(met["age"].to_numpy() / 90, 0, 1) - 0.5
    return np.array([len(met), cells.sum()])


def test_the_sensitivity_under_a_condition_is_the_largest_change_and_no_less():
    relation = NeighboringRelation.REPLACE_ONE
    rows = [(age, sex) for age in (0, 90) for sex in ("f", "m")]
    tables = [pd.DataFrame([row, (40, "f")], columns=["age", "sex"]) for row in rows]
    answers = [selected_sums(table) for table in tables]
    worst = max(np.linalg.norm(one - other) for one in answers for other in answers)
    query = NumericSums((numeric_column(SCHEMA, "age"),))
    with opened(relation="replace-one") as session:
        selected = session._where({"sex": "f"})._session
        stated = selected._sensitivity(query).bound
        assert selected._sensitivity(RowCount()).bound == 1
    assert worst <= stated == pytest.approx(worst, rel=1e-9)
    # A twin that takes the sensitivity of the same question to all rows, whose number is public.
    assert worst > query.sensitivity(relation).bound


def test_what_no_condition_can_be_is_refused_before_a_charge():
    with open_session(FRAME, schema=SCHEMA, epsilon=1.0) as session:
        for where, message in (
            ({"age": 3}, "is numeric; where= and parts are of columns of levels"),
            ({"sex": "x"}, "Expected levels of column 'sex' in where=: f, m"),
            ({"sex": []}, "Expected levels of column"),
            ({}, "levels by column"),
            ("sex == 'f'", "levels by column, as in where="),
            ({"height": 3}, "no column 'height'"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                session.count(where=where, share=0.1)
        for ask, message in (
            (lambda: session.sum("born", share=0.1), "Dates have no sum"),
            (lambda: session.mean("born", "age", share=0.1), "in a call of their own"),
            (lambda: session.mean(share=0.1), "one column or more"),
            (lambda: session.histogram("born", [1, "x"], share=0.1), "to be dates"),
            (lambda: session.histogram("born", ["NaT", "x"], share=0.1), "to be dates"),
            (lambda: session.histogram("born", share=0.1), "is of dates: it needs public edges"),
            (lambda: session.table("city", "age", share=0.1), "needs public edges"),
            (lambda: session.table("city", "sex", edges={"age": [0]}, share=0.1), "of 'city' and"),
            (lambda: session.table("sex", "age", edges=[0, 9], share=0.1), "edges by column, of"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                ask()
        parts = session.parts("sex")
        with pytest.raises(InvalidInputError, match="not of a part"):
            parts["f"].count(where={"city": "Bern"}, share=0.1)
        assert session.accountant.spent == 0 and session.ledger == ()


STEPS = {"add-or-remove-one": 1, "replace-one": 2}
OF_UNITS = SCHEMA.with_units("who", 2)


@pytest.mark.parametrize("relation", STEPS)
def test_the_sensitivity_of_units_under_a_condition_covers_every_change(relation):
    rows = [(age, sex) for age in (0, 90) for sex in ("f", "m")]
    pairs = [pd.DataFrame([*two, (40, "f")], columns=["age", "sex"]) for two in product(rows, rows)]
    others = [pd.DataFrame([(40, "f")], columns=["age", "sex"])] if STEPS[relation] == 1 else pairs
    moved = [selected_sums(one) - selected_sums(other) for one in pairs for other in others]
    worst = max(map(np.linalg.norm, moved))
    query = NumericSums((numeric_column(SCHEMA, "age"),))
    frame = FRAME.assign(who=np.arange(N) // 2)
    with open_session(frame, schema=OF_UNITS, relation=relation) as session:
        selected = session._where({"sex": "f"})._session
        stated = selected._sensitivity(query).bound
        assert selected._sensitivity(RowCount()).bound == 2 * STEPS[relation]
    assert worst <= stated == pytest.approx(2 * STEPS[relation] * np.sqrt(1.25))
    # A twin that takes what a row does.
    assert worst > query.sensitivity(NeighboringRelation(relation)).bound


def test_a_condition_asks_of_the_rows_of_units_that_are_used():
    frame = FRAME.assign(who=np.arange(N) // 4, sex=np.tile(["f", "f", "m", "m"], N // 4))
    units = SCHEMA.with_units("who", 4)
    with open_session(frame, schema=units, rho=1e10) as session:
        assert alike(session.count(where={"sex": "f"}, share=0.1), N // 2)
        (mean,) = session.mean("age", where={"sex": "f"}, share=0.1)
        session.quantiles("age", 0.5, where={"sex": "f"}, share=0.1)
        with pytest.raises(InvalidInputError, match=r"units of one row.* where="):
            session.parts("sex")
    assert mean == pytest.approx(frame["age"][frame["sex"] == "f"].mean(), rel=1e-3)


def test_a_closed_session_answers_no_condition():
    with opened() as session:
        session.count(where={"sex": "f"}, share=0.1)
    with pytest.raises(InvalidInputError, match="closed"):
        session.count(where={"sex": "f"}, share=0.1)
