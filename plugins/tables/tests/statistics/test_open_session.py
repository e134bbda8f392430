"""``open_session``: statistics near the truth, charged, refused, stated."""

import copy
import pickle
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.errors import (
    BudgetExceededError,
    DpcoreError,
    DpcoreWarning,
    InvalidInputError,
)
from dpcore.plugin import ClippedGradientSum, Gaussian, PrivacySession
from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    Sensitivity,
)
from dpcore_tables.statistics import column_of, open_session
from dpcore_tables.statistics.asking import Statistics
from dpcore_tables.store import convert

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "age": {"kind": "numeric", "lower": 10, "upper": 90},
            "region": {"kind": "categorical", "categories": ["north", "south"]},
            "pay": {"kind": "numeric", "lower": -5, "upper": 5},
            "hired": {"kind": "label", "classes": ["no", "yes"]},
        }
    }
)


def make_frame(n=4000):
    rng = np.random.default_rng(7)
    age = rng.integers(10, 91, n)
    return pd.DataFrame(
        {
            "age": age,
            "region": rng.choice(["north", "south", "elsewhere"], n, p=[0.5, 0.3, 0.2]),
            "pay": np.clip((age - 50) / 20 + rng.normal(size=n), -5, 5),
            "hired": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
        }
    )


FRAME = make_frame()


def opened(epsilon=1e6, **options):
    return open_session(FRAME, schema=SCHEMA, epsilon=epsilon, **options)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("accountant", ["zcdp", "pure"])
def test_with_a_huge_budget_they_are_those_of_numpy(accountant, relation):
    session = opened(accountant=accountant, relation=relation)
    age, pay = FRAME["age"].to_numpy(float), FRAME["pay"].to_numpy()
    near = {"rtol": 0, "atol": 0.02}
    edges = [10, 18, 35, 65, 90]
    counts = session.histogram("age", edges, share=0.1)
    np.testing.assert_allclose(counts, np.histogram(age, edges)[0], rtol=0, atol=0.51)
    regions = [(FRAME["region"] == name).sum() for name in ("north", "south")]
    np.testing.assert_allclose(session.histogram("region", share=0.1), regions, rtol=0, atol=0.51)
    hired = [(FRAME["hired"] == name).sum() for name in ("no", "yes")]
    np.testing.assert_allclose(session.histogram("hired", share=0.1), hired, rtol=0, atol=0.51)
    if relation == "add-or-remove-one":
        np.testing.assert_allclose(session.count(share=0.1), len(FRAME), rtol=0, atol=0.51)
    means = session.mean("age", "pay", share=0.1)
    np.testing.assert_allclose(means, [age.mean(), pay.mean()], **near)
    sums = session.sum("age", "pay", share=0.1)
    np.testing.assert_allclose(sums, [age.sum(), pay.sum()], rtol=2e-3, atol=5)
    covariance = session.covariance("age", "pay", share=0.1)
    np.testing.assert_allclose(covariance, np.cov(age, pay, bias=True), rtol=1e-3, atol=0.02)
    quantiles = session.quantiles("age", [0.9, 0.5], share=0.1, candidates=range(10, 91))
    np.testing.assert_array_equal(quantiles, np.quantile(age, [0.9, 0.5], method="nearest"))
    np.testing.assert_allclose(
        session.quantiles("pay", [0.25], share=0.1), np.quantile(pay, [0.25]), **near
    )


def test_noise_is_as_large_as_its_share_asks():
    # Its deviation is the multiplier that was charged: within 8 % of that, over 3,000 counts, with
    # probability 1 - 2e-9 for normal draws.
    city = {"kind": "categorical", "categories": list(map(str, range(3000)))}
    schema = {"columns": {"city": city, "y": {"kind": "label", "classes": [0, 1]}}}
    frame = pd.DataFrame({"city": ["0"], "y": [0]})
    session = open_session(frame, schema=schema, relation="add-or-remove-one", seed=3)
    counts = session.histogram("city", share=1.0)
    (entry,) = session.ledger
    assert counts[1:].std() == pytest.approx(entry.event.noise_multiplier, rel=0.08)
    # Unbiased: without the half step the mean is off by 1/2.
    assert abs(counts[1:].mean()) < 4 * counts.std() / 3000**0.5 + 0.1
    assert session.accountant.remaining < 1e-9 * session.accountant.budget


def test_shares_that_add_up_to_one_fit():
    session = opened(epsilon=1.0)
    for _ in range(10):
        session.count(share=0.1)
    assert len(session.ledger) == 10
    with pytest.raises(BudgetExceededError):
        session.count(share=0.001)


def test_what_does_not_fit_is_refused_whole():
    session = opened(epsilon=1.0)
    session.count(share=0.9)
    for ask in (
        lambda: session.histogram("age", [10, 50, 90], share=0.2),
        lambda: session.quantiles("age", [0.1, 0.5, 0.9], share=0.2),
    ):
        with pytest.raises(BudgetExceededError):
            ask()
    assert len(session.ledger) == 1


def test_mechanisms_are_those_of_the_accountant():
    for accountant, event in (("zcdp", GaussianDpEvent), ("gdp", GaussianDpEvent),
                              ("pure", LaplaceDpEvent)):  # fmt: skip
        session = opened(epsilon=1.0, accountant=accountant)
        session.mean("age", share=0.5)
        assert [type(entry.event) for entry in session.ledger] == [event]
    for accountant in ("zcdp", "gdp"):
        session = opened(epsilon=1.0, accountant=accountant)
        assert session.quantiles("age", 0.5, share=0.5).shape == (1,)
        assert type(session.ledger[0].event) is ExponentialMechanismDpEvent


class Longest:
    """A query of one's own: how many rows are of the positive class."""

    kind = "positives"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([(block.y > 0).sum()], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


def test_a_query_of_ones_own_is_answered_and_named():
    with opened() as session:
        value = session.release(Longest(), Gaussian(0.01))
        assert round(value[0] + 0.5) == (FRAME["hired"] == "yes").sum()
        stated = session.statement()
    assert [name.partition(":")[2] for name in stated["parts_not_from_dpcore"]] == ["Longest"]
    assert "which are not from dpcore" in stated["sentence"] and stated["private"]
    assert stated["releases"] == {"positives": 1}


def test_it_is_a_privacy_session_for_queries_of_models():
    session = opened(epsilon=1.0)
    assert isinstance(session, PrivacySession)
    problem = session.problem
    query = ClippedGradientSum(problem, np.zeros(problem.n_features), 1.0)
    assert session.release(query, Gaussian(20.0)).shape == (problem.n_features,)
    assert session.releases == {"gradient": 1}


def test_the_statement_says_what_is_guaranteed():
    session = opened(epsilon=0.5, delta=1e-6, relation="replace-one")
    session.mean("age", share=0.5)
    stated = session.statement()
    assert stated["sentence"].startswith(
        "What was released is (0.5, 1e-06)-differentially private under replace-one of a row, "
        "given the frame's column types, as enforced by the zcdp filter"
    )
    assert stated["private"] and stated["spent"] == session.accountant.spent
    assert opened(accountant="pure").statement()["delta"] == 0.0


def test_a_budget_may_be_in_the_unit_of_its_filter():
    for options, name in (({"rho": 0.125}, "zcdp"), ({"mu": 0.5}, "gdp")):
        session = open_session(FRAME, schema=SCHEMA, delta=1e-6, **options)
        assert session.accountant.name == name
        ((option, value),) = options.items()
        assert session.accountant.budget == pytest.approx(value ** (1 + (name == "gdp")))
        session.mean("age", share=1.0)
        stated = session.statement()
        assert f"{option} = {value}" in stated["sentence"] and stated[option] == value
        with pytest.raises(InvalidInputError, match="each is a budget"):
            open_session(FRAME, schema=SCHEMA, epsilon=1.0, **options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"seed": 3}, "seed"), ({"schema": {**SCHEMA.to_dict(), "from_data": True}}, "read off")],
)
def test_what_voids_the_guarantee_is_said(options, reason):
    session = open_session(FRAME, **{"schema": SCHEMA, **options})
    session.count(share=0.5)
    stated = session.statement()
    assert not stated["private"] and reason in stated["sentence"]


def test_a_part_that_promises_nothing_voids_the_guarantee():
    class Exact(Longest):
        private = False

    session = opened()
    session.release(Exact(), Gaussian(1.0))
    assert not session.statement()["private"]


def test_every_source_of_a_fit_is_one(tmp_path):
    path = tmp_path / "rows.csv"
    FRAME.to_csv(path, index=False)
    assert open_session(path, schema=SCHEMA, epsilon=1e6).mean("age", share=1.0) == (
        pytest.approx(FRAME["age"].mean(), abs=0.02)
    )
    convert(path, tmp_path / "rows.dpcore", SCHEMA)
    stored = open_session(tmp_path / "rows.dpcore", epsilon=1e6)
    assert stored.parts("region")["north"].count(share=1.0) == (
        pytest.approx((FRAME["region"] == "north").sum(), abs=0.51)
    )
    X, y = FRAME[["age", "pay"]].to_numpy(float), np.where(FRAME["hired"] == "yes", 1, -1)
    arrays = open_session(X, y, bounds=([10, -5], [90, 5]), row_norm=None, epsilon=1e6)
    assert arrays.mean("x1", share=1.0) == pytest.approx(FRAME["age"].mean(), abs=0.02)
    bundled = open_session("census-sim", epsilon=1e6)
    assert round(bundled.count(share=1.0)) == 50_000
    with pytest.raises(InvalidInputError, match="left to the data set"):
        open_session("census-sim", schema=SCHEMA)


def test_a_public_number_of_rows_is_not_paid_for():
    session = opened(relation="replace-one", epsilon=1.0)
    with pytest.raises(InvalidInputError, match="session.problem.n"):
        session.count(share=0.5)
    assert session.ledger == () and session.problem.n == len(FRAME)


def test_a_target_is_in_its_own_unit():
    y = np.linspace(100, 200, 1001)
    session = open_session(
        np.zeros((1001, 1)), y, bounds=(0, 1), target_bounds=(100, 300), epsilon=1e6
    )
    assert session.mean("label", share=0.5) == pytest.approx(150, abs=0.1)
    assert session.quantiles("label", [0.5], share=0.5) == pytest.approx(150, abs=0.5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.histogram("region", [0, 1], share=0.5),
        lambda s: s.histogram("age", share=0.5),
        lambda s: s.histogram("agee", share=0.5),
        lambda s: s.mean("region", share=0.5),
        lambda s: s.mean(share=0.5),
        lambda s: s.covariance("age", "region", share=0.5),
        lambda s: s.quantiles("age", [], share=0.5),
        lambda s: s.quantiles("age", [1.5], share=0.5),
        lambda s: s.quantiles("age", None, share=0.5),
        lambda s: s.histogram("age", "10,50", share=0.5),
        lambda s: s.count(share=0.0),
        lambda s: s.count(share=1.5),
        lambda s: s.count(share=float("nan")),
        lambda s: s.parts("age"),
        lambda s: s.parts("nowhere"),
    ],
)
def test_what_cannot_be_is_refused_uncharged(ask):
    session = opened(epsilon=1.0)
    with pytest.raises(InvalidInputError):
        ask(session)
    assert session.ledger == ()


@pytest.mark.parametrize(
    "options",
    [
        {"accountant": "rdp-nowhere"},
        {"accountant": "sampling-composition"},
        {"epsilon": -1.0},
        {"delta": 2.0},
        {"relation": "nobody"},
        {"threads": 0},
        {"schema": 3},
    ],
)
def test_budgets_and_filters_that_cannot_be_are_refused(options):
    with pytest.raises(DpcoreError):
        open_session(FRAME, **{"schema": SCHEMA, **options})


def test_a_large_epsilon_is_warned_of():
    with pytest.warns(DpcoreWarning, match="next to no protection"):
        opened(epsilon=20.0)


def test_a_block_closes_it_and_tells_what_was_charged():
    with pytest.raises(RuntimeError) as caught, opened(epsilon=1.0) as session:
        session.count(share=0.5)
        raise RuntimeError("stop")
    (note,) = caught.value.__notes__
    assert "Charged, and spent" in note and "what was released may be used" in note
    with pytest.raises(InvalidInputError, match="closed"):
        session.count(share=0.1)
    assert session.statement()["releases"] == {"count": 1}


def test_parts_have_the_whole_budget_each():
    session = opened(epsilon=4.0)
    parts = session.parts("region")
    assert list(parts) == ["north", "south", None]
    session.count(share=0.25)
    for part in parts.values():
        part.count(share=0.25)
        part.mean("age", share=0.5)
    assert session.accountant.remaining < 1e-9 * session.accountant.budget
    assert isinstance(parts["north"], Statistics) and len(session.ledger) == 7
    assert {entry.part for entry in session.ledger} == {
        None, "region = north", "region = south", "other region"
    }  # fmt: skip
    with pytest.raises(BudgetExceededError):
        parts["south"].count(share=0.01)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_parts_answer_of_their_own_rows(relation):
    session = opened(relation=relation)
    for level, part in session.parts("region").items():
        name = "elsewhere" if level is None else level
        rows = FRAME[FRAME["region"] == name]
        assert part.count(share=0.1) == pytest.approx(len(rows), abs=0.51)
        assert part.mean("age", share=0.1) == pytest.approx(rows["age"].mean(), abs=0.02)


def test_rows_are_in_parts_by_one_column():
    session = opened()
    first, again = session.parts("hired"), session.parts("hired")
    assert first["yes"] is again["yes"] and first["yes"].count(share=0.1) > 0
    with pytest.raises(InvalidInputError, match="two parts at a time"):
        session.parts("region")
    # The session decides, of two threads too; and nobody has a second one.
    with pytest.raises(InvalidInputError, match="two parts at a time"):
        session._split("region", column_of(SCHEMA, "region"))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(session)


def test_a_session_of_another_version_is_named(monkeypatch):
    # As where dpcore-tables is not of the core's version.
    others = {"is_ours": lambda name: not name.startswith("dpcore_tables")}
    known = vars(import_module("dpcore.privacy.first_party"))
    monkeypatch.setattr("dpcore.privacy.statement.first_party", SimpleNamespace(**known | others))
    with opened() as session:
        session.count(share=0.5)
        stated = session.statement()
    assert "dpcore_tables.statistics.opened:Opened" in stated["parts_not_from_dpcore"]
    assert "dpcore_tables.kinds.categorical:Categorical" in stated["parts_not_from_dpcore"]


class Tells(ClippedGradientSum):
    """A query of somebody's own that fails where a row is of the upper class."""

    def answer_block(self, block):
        if (block.y > 0).any():
            raise ValueError("There is one.")
        return super().answer_block(block)


def test_after_an_answer_that_ended_in_an_error_there_is_no_statement():
    session = open_session(
        make_frame(40), schema=SCHEMA, epsilon=1.0, accountant="zcdp", delta=1e-6
    )
    with session:
        assert session.statement()["epsilon"] == 1.0
        zero = np.zeros(session.problem.n_features)
        with pytest.raises(ValueError):
            session.release(Tells(session.problem, zero, 1.0), Gaussian(1e6))
        with pytest.raises(InvalidInputError, match="no guarantee to state"):
            session.statement()
