"""Intervals of coefficients: sums charged last, within the budget, and what follows from them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore import Intervals, fit, load_model
from dpcore.errors import BudgetExceededError, InvalidInputError, ModelFileError
from dpcore.fitting import run
from dpcore.model.file import checksum, read_model_file
from dpcore.plugin.parts import TableSession
from dpcore_report.card import card_of
from dpcore_report.coefficients import summary_of
from dpcore_report.intervals import inference
from dpcore_report.intervals.text import intervals_in_words
from dpcore_tables.files import FILES

pytestmark = pytest.mark.filterwarnings("ignore::dpcore.errors.DpcoreWarning")

TRUTH = np.array([3.0, -2.0, 0.0])


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    log_odds = X @ TRUTH[:2] + TRUTH[2]
    return X, (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)


def fitted(share=0.4, epsilon=50.0, data=None, **others):
    X, y = data or rows()
    values = {"algo": "dp-gd", "delta": 1e-6, "params": {"steps": 20}, "classes": (0, 1)}
    values |= {"bounds": (0, 1), "row_norm": None, "epsilon": epsilon, "intervals_share": share}
    return fit(X, y, **{**values, **others})


@pytest.mark.parametrize("share", [0.3, 0.4, 0.5])
def test_sums_on_another_grid_than_that_of_a_model_of_zeros_have_their_share(share):
    X = np.random.default_rng(0).random((240, 3))
    public = {"target_bounds": (0, 100000), "bounds": (0, 1), "loss": "ridge"}
    asked = {"epsilon": 8.0, "delta": 1e-8, "algo": "dp-agd", "seed": 1}
    model = fit(X, X @ [4e4, -4e4, 2e4], **public, **asked, also=[Intervals(share)])
    assert model.privacy["releases"]["intervals"] == 3
    assert model.privacy["spent"] <= model.privacy["budget"]


def test_the_sums_are_charged_last_and_within_the_budget():
    model = fitted()
    privacy, last = model.privacy, model.ledger[-1]
    assert (last["kind"], last["count"]) == ("intervals", 3)
    total = sum(Fraction(entry["cost"]) for entry in model.ledger)
    assert total <= Fraction(privacy["budget"]) * (1 + Fraction(1, 10**9))
    assert privacy["spent"] == pytest.approx(float(total))
    # Three matrices are 13/20 of the share: first curvatures, last ones, and squares.
    assert last["cost"] == pytest.approx(0.4 * 13 / 20 * privacy["budget"], rel=1e-6)
    assert (privacy["epsilon"], privacy["intervals"]) == (50.0, {"share": 0.4})
    assert "Sums behind intervals of the coefficients were released" in privacy["sentence"]


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "rdp", "pure"])
def test_every_adaptive_filter_holds_both(accountant, relation):
    gamma = {"algo": "outpert", "params": {}, "delta": 0.0, "use": {"noise": "gamma"}}
    pure = {**gamma, "l2": 0.01, "n0": 4000} if accountant == "pure" else {}
    model = fitted(accountant=accountant, relation=relation, **pure)
    assert model.ledger[-1]["kind"] == "intervals"
    assert model.privacy["spent"] <= model.privacy["budget"]


def test_estimates_are_near_the_truth_and_in_the_file(tmp_path, capsys):
    model = fitted()
    estimate = np.array(model.intervals["estimate"])
    errors = np.sqrt(np.diag(model.intervals["covariance"]))
    # Seven deviations: 3e-12 each.
    assert (np.abs(estimate - TRUTH) < 7 * errors).all() and (errors < 0.3).all()
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").intervals == model.intervals
    assert model.report["intervals"] == model.intervals
    FILES.info(str(tmp_path / "model.json"), as_json=False)
    assert intervals_in_words(model.intervals)[0] in capsys.readouterr().out


def test_a_file_with_half_an_interval_is_refused(tmp_path):
    import json

    fitted().save(tmp_path / "model.json")
    content = read_model_file(tmp_path / "model.json")
    content["intervals"]["covariance"].pop()
    text = {"format": "dpcore-model", **content, "checksum": checksum(content)}
    (tmp_path / "model.json").write_text(json.dumps(text))
    with pytest.raises(ModelFileError, match="intervals"):
        load_model(tmp_path / "model.json")


def test_sums_that_were_not_released_are_not_said_to_be(monkeypatch):
    looked = []

    def from_look(first):
        def too_long(self, w):
            looked.append(w)
            return len(looked) >= first

        looked.clear()
        monkeypatch.setattr(inference.Inference, "_is_too_long", too_long)
        return fitted()

    model = from_look(1)
    assert "coefficients are so large" in model.intervals["why_not"]
    assert "intervals" not in model.privacy["releases"]
    assert "none was released" in model.privacy["sentence"]
    assert "Sums behind" not in model.privacy["sentence"]
    assert "0.4 of the budget was set aside" in str(card_of(model))
    model = from_look(2)
    assert model.privacy["releases"]["intervals"] == 1
    assert "Sums behind intervals of the coefficients were released" in model.privacy["sentence"]
    assert model.privacy["spent"] < 0.9 * model.privacy["budget"]


def test_both_shares_are_stated_and_charged():
    model = fitted(test_fraction=0.5, evaluate_share=0.2)
    assert [entry["kind"] for entry in model.ledger[-2:]] == ["evaluation", "intervals"]
    assert "for 0.2 of the same budget" in model.privacy["sentence"]
    assert "for at most 0.4 of the same budget" in model.privacy["sentence"]
    assert model.privacy["spent"] <= model.privacy["budget"]
    assert model.evaluation is not None and "estimate" in model.intervals


def of_units(frame, **others):
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 1}}
    columns["y"] = {"kind": "label", "classes": [0, 1]}
    asked = {"epsilon": 50.0, "delta": 1e-6, "intervals_share": 0.4, "algo": "dp-gd"}
    return fit(frame, schema={"columns": columns}, params={"steps": 20}, **asked, **others)


def test_rows_of_units_are_taken_for_dependent():
    import pandas as pd

    X, y = rows(12_000)
    frame = pd.DataFrame({"id": np.arange(12_000) // 3, "x": X[:, 0], "y": y})
    of_rows = of_units(frame[["x", "y"]])
    of_each = of_units(frame, unit="id", rows_per_unit=3)
    ends = [np.array(model.intervals["covariance"]) for model in (of_rows, of_each)]
    # Three times the variance of the sampling, and nine of the noise's, which is little here.
    assert (np.diag(ends[1]) > 2 * np.diag(ends[0])).all()
    assert "all rows of a value of 'id'" in of_each.privacy["sentence"]


def test_the_summary_is_in_the_columns_units():
    X, y = rows()
    model = fitted(data=(10 * X, y), bounds=(0, 10))
    first = model.summary().coefficients[0]
    estimate, covariance = model.intervals["estimate"], model.intervals["covariance"]
    assert first.estimate == pytest.approx(estimate[0] / 10)
    assert first.error == pytest.approx(covariance[0][0] ** 0.5 / 10)
    reach = 1.959964 * first.error
    assert (first.low, first.high) == pytest.approx(
        (first.estimate - reach, first.estimate + reach)
    )
    heads, cells = model.summary().cells()
    assert heads[-3:] == ("estimate", "std. error", "95 % interval") and len(cells) == 3


def test_predictions_have_intervals_around_the_estimates_margins():
    model = fitted()
    found = model.predict_interval(np.array([[0.5, 0.25], [1.0, 1.0]]))
    design = np.array([[0.5, 0.25, 1.0], [1.0, 1.0, 1.0]])
    estimate = np.array(model.intervals["estimate"])
    variance = np.einsum("ij,jk,ik->i", design, model.intervals["covariance"], design)
    assert found.mean(axis=1) == pytest.approx(design @ estimate, abs=1e-5)
    assert np.diff(found)[:, 0] == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=1e-4)
    with pytest.raises(InvalidInputError, match="none were asked for"):
        fitted(share=None).predict_interval(design[:, :2])


def test_a_coefficient_outside_its_interval_is_explained():
    model = fitted()
    inside = replace(model, w=np.array(model.intervals["estimate"]))
    moved = replace(inside, w=inside.w + np.array([1.0, 0.0, 0.0]))
    assert not any("lie outside" in note for note in summary_of(inside).notes)
    assert (
        "1 of 3 coefficients of the model lie outside the interval" in summary_of(moved).notes[-1]
    )


def test_of_a_number_intervals_are_in_its_own_unit():
    X, _ = rows()
    y = 40 * X[:, 0] + 10 * np.random.default_rng(1).normal(size=len(X))
    model = fitted(data=(X, y), loss="ridge", classes=None, target_bounds=(-60, 120))
    first = model.summary().coefficients[0]
    assert first.low < 40 < first.high and 0 < first.error < 5
    found = model.predict_interval(np.array([[0.5, 0.5]]))
    assert found[0, 0] < 20 < found[0, 1]


def test_ends_of_intervals_are_held_to_the_bounds_of_the_target():
    X, _ = rows()
    model = fitted(data=(X, 40 * X[:, 0]), loss="ridge", classes=None, target_bounds=(5, 30))
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    found = model.predict_interval(corners)
    assert (found.min(), found.max()) == (5, 30)
    assert ((found[:, 0] <= model.predict(corners)) & (model.predict(corners) <= found[:, 1])).all()


def test_a_budget_that_is_too_small_gives_a_reason_and_no_number():
    model = fitted(epsilon=0.05)
    assert model.intervals.keys() == {"why_not"}
    assert "The coefficients have no intervals: the noise hides" in model.summary().notes[-1]
    assert model.summary().coefficients[0].low is None
    with pytest.raises(InvalidInputError, match="has no intervals: the noise"):
        model.predict_interval(rows(3)[0])


def test_a_share_that_was_not_set_aside_is_refused_by_the_filter(monkeypatch):
    # The broken twin: the optimizer has all of the budget.
    monkeypatch.setattr(run.RunSteps, "set_aside", lambda steps, state: state)
    with pytest.raises(BudgetExceededError):
        fitted()


def test_all_of_the_share_is_set_aside_wherever_a_step_leads_to(monkeypatch):
    """A dry run over no rows that ended early left the rest of the share to the algorithm."""
    monkeypatch.setattr(inference, "nearer", lambda w, *sums: w + 1e5)
    model = fitted(**RIDGE)
    assert model.intervals == {"why_not": inference.TOO_LONG}
    # The algorithm's 60 %, and a quarter of the share for what was released.
    assert model.privacy["spent"] <= 0.7 * model.privacy["budget"] * (1 + 1e-9)


RIDGE = {"algo": "dp-gd", "loss": "ridge", "classes": None, "target_bounds": (-1, 1), "l2": 0.0}


def intervals_of(n, monkeypatch):
    """Return the values where what is released is constant, whatever the rows are."""
    answered = TableSession.release

    def release(self, query, mechanism):
        value = np.asarray(answered(self, query, mechanism))
        return np.linspace(1, 2, value.size).reshape(value.shape)

    monkeypatch.setattr(TableSession, "release", release)
    return fitted(data=rows(n)).intervals


def test_values_follow_from_what_was_released_alone(monkeypatch):
    assert intervals_of(300, monkeypatch) == intervals_of(900, monkeypatch)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"share": 1.0}, "intervals_share=1.0"),
        ({"loss": "hinge-svm"}, "states no self_concordance"),
        ({"loss": "huber-svm"}, "states no self_concordance"),
        ({"classes": (0, 1, 2)}, "margins of its own"),
        ({"class_weight": {0: 2.0}}, "where rows or classes have weights"),
        ({"class_weight": "balanced"}, "where rows or classes have weights"),
        ({"l2": 0.1}, "no number of rows is public"),
        ({"algo": "sgd-adv", "params": {}}, "fixed schedule"),
        ({"algo": "objpert", "params": {}}, "objpert cannot leave"),
        ({"test_fraction": 0.2, "evaluate_share": 0.6}, "take 0.6 of the budget"),
        ({"test_fraction": 0.2, "evaluate_epsilon": 49.0, "accountant": "zcdp"}, "0.97"),
    ],
)
def test_what_has_no_intervals_is_refused_before_anything_is_charged(monkeypatch, others, message):
    monkeypatch.setattr(TableSession, "release", lambda *_: pytest.fail("a release"))
    with pytest.raises(InvalidInputError, match=message):
        fitted(**others)
