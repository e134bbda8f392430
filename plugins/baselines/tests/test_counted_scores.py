"""Counts of log odds in a run of dp-gd: when, at which share, with which noise."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import TableSession
from dpcore_baselines.calibration import of_a_run
from dpcore_baselines.calibration.counts_line import CountsLine


def made_rows(n=10_000, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 8))
    w = np.array([4.0, -3.0, 2.0, 2.0, -1.0, 1.0, 0.0, 0.0])
    return X, rng.random(n) < special.expit(X @ w - 1.0)


PUBLIC = dict(classes=(False, True), bounds=(-1, 1), row_norm=None, seed=2)


def test_from_a_signal_on_it_is_the_last_release_for_its_share():
    X, positive = made_rows()
    model = fit(X, positive, **PUBLIC, epsilon=1.0, params={"curves": "none"})
    last, budget = model.ledger[-1], model.privacy["budget"]
    assert model.details["u"] >= of_a_run.SIGNAL
    assert (last["kind"], last["count"]) == ("calibration", 1)
    share = of_a_run.share_for(model.details["u"], 10_000, 1.0)
    later = ("gradient", "calibration")
    before = sum(entry["cost"] for entry in model.ledger if entry["kind"] not in later)
    assert last["cost"] == pytest.approx(share * (budget - before), rel=1e-3)
    assert 0.999 * budget < model.privacy["spent"] <= budget
    assert "to match noisy counts of the classes" in model.status
    assert set(model.details["by_counts"]) == {"slope", "added"}
    none = fit(X, positive, **PUBLIC, epsilon=1.0, params={"calibrate_share": 0})
    assert "calibration" not in none.privacy["releases"] and "by_counts" not in none.details
    few = fit(X, positive, **PUBLIC, epsilon=0.02)
    assert few.details["u"] < of_a_run.SIGNAL and "calibration" not in few.privacy["releases"]


@pytest.mark.parametrize(("n", "epsilon"), [(10_000, 0.03), (400, 8.0)])
def test_below_it_one_number_says_how_many_rows_are_positive(n, epsilon):
    X, positive = made_rows(n)
    model = fit(X, positive, **PUBLIC, n0=n, epsilon=epsilon, params={"curves": "none"})
    last, budget, u = model.ledger[-1], model.privacy["budget"], model.details["u"]
    assert (u >= of_a_run.SIGNAL) == (n < of_a_run.FEWEST)
    assert (last["kind"], last["count"]) == ("calibration", 1)
    later = ("gradient", "calibration")
    before = sum(entry["cost"] for entry in model.ledger if entry["kind"] not in later)
    share = of_a_run.share_for(u, n, budget**0.5)
    assert share == (
        0.03 if n == 400 else pytest.approx(min(30 / n / budget**0.5, 30**0.5 / u) ** 2)
    )
    assert last["cost"] == pytest.approx(share * (budget - before), rel=1e-3)
    assert "to match a noisy number of positive rows" in model.status
    assert model.details["by_counts"]["slope"] == 1.0


@pytest.mark.parametrize(
    ("u", "n", "mu", "by_odds"),
    [
        (80.0, 1000, 0.1, True),
        (79.0, 25_000, 0.02, True),  # n mu = 500: many columns, and rows enough
        (79.0, 24_000, 0.02, False),
        (500.0, 999, 1.0, False),
    ],
)
def test_counts_by_log_odds_are_of_a_large_signal_or_of_rows_clear_of_noise(u, n, mu, by_odds):
    assert of_a_run.counts_pay(u, n, mu) == by_odds
    assert of_a_run.share_for(u, n, mu) == (
        min(0.1, 17 / u) if by_odds else max(0.03, min((30 / n / mu) ** 2, 30 / u**2))
    )


@pytest.mark.parametrize(
    "words",
    [
        {"l2": 0.01},
        {"intercept": False},
        {"class_weight": {False: 1.0, True: 2.0}},
        {"loss": "hinge-svm"},
        {"params": {"moments_share": 0.0}},
        {"params": {"calibrated": False}},
        {"use": {"noise": "gamma"}, "accountant": "zcdp"},
    ],
)
def test_where_log_odds_are_not_calibrated_counts_are_refused_and_by_default_left_out(words):
    X, positive = made_rows(3000)
    given = PUBLIC | {"epsilon": 4.0, "algo": "dp-gd"} | words
    given["params"] = {"steps": 5} | given.get("params", {})
    model = fit(X, positive, **given)
    assert model.details["u"] > of_a_run.SIGNAL
    assert "calibration" not in model.privacy["releases"]
    given["params"] = given["params"] | {"calibrate_share": 0.1}
    with pytest.raises(InvalidInputError, match="calibrate_share is for calibrated log odds"):
        fit(X, positive, **given)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("rows_per_unit", [None, 4])
@pytest.mark.parametrize("share", [None, 0.1])
def test_the_line_is_told_the_noise_that_is_added(relation, rows_per_unit, share, monkeypatch):
    told, added = [], []

    def telling(counts, deviation):
        told.append(deviation)
        return CountsLine()

    def level(sums, deviation, n, u, spread):
        told.append(deviation)
        return 0.0

    class RecordingSession(TableSession):
        def release(self, query, mechanism):
            if query.kind == "calibration":
                moved = query.sensitivity(self.relation).bound
                if rows_per_unit:  # each of them comes and goes
                    one = query.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound
                    moved = rows_per_unit * self.relation.rows_changed * one
                added.append(mechanism.noise_multiplier * moved)
            return super().release(query, mechanism)

    monkeypatch.setattr(of_a_run, "counts_line", telling)
    monkeypatch.setattr(of_a_run, "level_of", level)
    monkeypatch.setattr("dpcore.fitting.run_sessions.TableSession", RecordingSession)
    X, positive = made_rows(400)
    columns = {f"x{k}": {"kind": "numeric", "lower": -1, "upper": 1} for k in range(8)}
    columns["y"] = {"kind": "label", "classes": [False, True]}
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    frame["y"] = positive
    schema = {"columns": columns}
    if rows_per_unit:
        frame["id"] = np.arange(400) // 4
        schema |= {"unit": "id", "rows_per_unit": rows_per_unit}
    params = {"steps": 3} | ({"calibrate_share": share} if share else {})
    fit(frame, schema=schema, epsilon=20.0, algo="dp-gd", relation=relation, params=params)
    assert len(told) == 1 and told == pytest.approx(added)
