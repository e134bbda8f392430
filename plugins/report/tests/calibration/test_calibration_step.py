"""The step of a calibration: its charge, its place among the steps, and the model that follows."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import special

from dpcore import Calibration, Evaluation, Intervals, OneVsRest, Weights, fit, load_model
from dpcore.errors import InvalidInputError
from dpcore.plugin import round_parameters
from dpcore.plugin.parts import TableSession, load_registry
from dpcore_report.calibration import counted
from dpcore_report.evaluation.held_out_counts import HeldOutCounts
from dpcore_report.fitted import fitted_section
from dpcore_report.intervals.inference import Inference

W = np.array([3.0, -2.0, 1.0])
PUBLIC = {"classes": (0, 1), "bounds": (-1, 1), "row_norm": None, "delta": 1e-6}
SHORT = {"algo": "dp-gd", "params": {"steps": 8, "calibrate_share": 0}}


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, (rng.random(n) < special.expit(X @ W - 0.5)).astype(int)


def fitted(*also, n=2000, **others):
    told = {"epsilon": 4.0, "seed": 3, **SHORT, **PUBLIC, **others}
    return fit(*rows(n), also=also, **told)


def test_counts_that_noise_hides_are_said_to_move_nothing():
    # It said "multiplied by 1.00 ...; the slope is known to about 0.20" of what was known before.
    model = fitted(Calibration(0.2), n=100, epsilon=0.05)
    (line,) = Calibration.of(model).lines
    assert line.startswith("The log odds stay as they were") and line in model.status
    assert "is known to about" not in line and np.array_equal(plain(model), model.w)


def plain(model):
    """Return the coefficients before the step, as its section says what it did."""
    found = Calibration.of(model).data
    w = model.w.copy()
    w[-1] -= found["added"]
    return w / found["slope"]


def test_one_release_is_charged_for_its_share_and_the_model_is_the_calibrated_one():
    model, other = fitted(Calibration(0.2), seed=None), fitted(seed=None)
    last, budget = model.ledger[-1], model.privacy["budget"]
    assert (last["kind"], last["count"]) == ("calibration", 1)
    assert last["cost"] == pytest.approx(0.2 * budget, rel=1e-6)
    total = sum(Fraction(entry["cost"]) for entry in model.ledger)
    assert total <= Fraction(budget) * (1 + Fraction(1, 10**9))
    assert other.ledger[-1]["cost"] > model.ledger[-2]["cost"]  # The descent has what is left.
    assert model.privacy["steps"] == {"calibration": {"share": 0.2}}
    assert "The step calibration had 0.2 of the same budget" in model.privacy["sentence"]
    found = Calibration.of(model)
    slope, added = found.data["slope"], found.data["added"]
    said = f"The log odds were multiplied by {slope:.2f} and moved by {added:+.2f}"
    assert said in model.status and said in found.lines[0]
    assert "every row counts 1" in found.lines[0] and slope != 1.0
    beside = fitted_section(model).parts[-1]
    assert any(f"calibration: {said}" in item.text for item in beside.items)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "rdp", "pure"])
def test_every_adaptive_filter_holds_it(accountant, relation):
    pure = {"algo": "outpert", "params": {}, "delta": 0.0, "use": {"noise": "gamma"}}
    others = {"accountant": accountant, "relation": relation}
    model = fitted(Calibration(0.2), **others, **(pure if accountant == "pure" else {}))
    kind = "Geometric" if accountant == "pure" else "Gaussian"
    assert (model.ledger[-1]["kind"], model.ledger[-1]["mechanism"]) == ("calibration", kind)
    assert model.privacy["spent"] <= model.privacy["budget"]


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("k", [None, 5])
def test_the_line_is_told_the_noise_that_is_added_and_how_sure_the_model_is(
    relation, k, monkeypatch
):
    told, added = [], []
    same = counted.counts_line(np.zeros(22), 1.0)  # Nothing is clear of its noise.

    class RecordingSession(TableSession):
        def release(self, query, mechanism):
            if query.kind == "calibration":
                moved = query.sensitivity(self.relation).bound
                moved = moved if k is None else k * self.relation.rows_changed
                added.append(mechanism.noise_multiplier * moved)
            return super().release(query, mechanism)

    monkeypatch.setattr(counted, "counts_line", lambda *asked: told.append(asked) or same)
    monkeypatch.setattr("dpcore.fitting.run_state.TableSession", RecordingSession)
    X, y = rows(500)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, who=np.arange(500) // 5)
    numbers = {name: {"kind": "numeric", "lower": -1, "upper": 1} for name in "abc"}
    schema = {"columns": numbers | {"y": {"kind": "label", "classes": [0, 1]}}}
    if k is None:
        del frame["who"]
    else:
        schema |= {"unit": "who", "rows_per_unit": k}
    given = {"schema": schema, "epsilon": 4.0, "relation": relation, "also": [Calibration(0.2)]}
    fit(frame, **given, **SHORT)
    fit(frame, **given, algo="dp-gd", params={"steps": 8, "calibrated": False})
    assert [deviation for _, deviation, _ in told] == pytest.approx(added)
    assert [prior for _, _, prior in told] == [counted.CALIBRATED, counted.UNKNOWN]


def test_it_comes_before_the_evaluation_and_this_before_intervals(monkeypatch):
    shown = {}
    for kind in (Inference, HeldOutCounts):

        def noted(self, session, view, kind=kind, run=kind.run):
            shown[kind] = view.solution.w
            return run(self, session, view)

        monkeypatch.setattr(kind, "run", noted)
    steps = [Intervals(0.3, anyway=True), Evaluation(0.1, test_fraction=0.3), Calibration(0.1)]
    for also in (steps, steps[::-1]):
        model = fitted(*also, epsilon=20.0)
        seen = [entry["kind"] for entry in model.ledger]
        assert seen.index("calibration") < seen.index("evaluation") < seen.index("intervals")
        # The evaluation scores what predict returns, to the bit, and intervals start from there.
        assert all(np.array_equal(shown[kind], model.w) for kind in (Inference, HeldOutCounts))
        on_grid = round_parameters(model.w, 2.0)
        assert np.array_equal(on_grid, model.w) and not np.allclose(model.w, plain(model))


def test_what_is_predicted_is_of_the_calibrated_coefficients(tmp_path):
    model = fitted(Calibration(0.2))
    X, _ = rows(50, seed=4)
    odds = (X + 1) / 2 @ model.coef + model.intercept
    assert model.decision_function(X) == pytest.approx(odds, abs=1e-3)
    model.save(tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    assert np.array_equal(kept.w, model.w)
    assert kept.sections == model.sections and kept.privacy == model.privacy
    assert json.loads((tmp_path / "model.json").read_text())["sections"]["calibration"]


def _doubled(solution):
    return replace(solution, w=2 * solution.w)


def test_a_model_that_is_too_bold_is_brought_back(monkeypatch):
    kind = load_registry().load("optimizer", "objpert")
    minimize = kind.minimize
    monkeypatch.setattr(kind, "minimize", lambda *asked: _doubled(minimize(*asked)))
    given = {"epsilon": 2.0, "algo": "objpert", "accountant": "rdp", "params": {}}
    bold, model = (fitted(*also, n=20_000, **given) for also in ((), (Calibration(0.1),)))
    X, y = rows(20_000, seed=9)
    assert Calibration.of(model).data["slope"] == pytest.approx(0.5, abs=0.1)

    def loss(model):
        return np.logaddexp(0, -np.where(y == 1, 1, -1) * model.decision_function(X)).mean()

    assert loss(model) < loss(bold) - 0.01


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"loss": "hinge-svm"}, "the loss hinge-svm has no log odds"),
        ({"intercept": False}, "the model has no intercept"),
        ({"loss": "softmax", "classes": range(51)}, "there are more than 50 classes"),
        ({"loss": OneVsRest("logistic"), "classes": (0, 1, 2)}, "each class has a fit of its own"),
        ({"loss": "ridge", "classes": None, "target_bounds": (0, 1)}, "has no log odds"),
        ({"accountant": "single", "algo": "objpert", "params": {}}, "bounds one release"),
    ],
)
def test_what_it_is_not_for_is_refused_before_a_charge(words, said, monkeypatch):
    monkeypatch.setattr(TableSession, "release", lambda *_: pytest.fail("a release"))
    with pytest.raises(InvalidInputError, match=said) as caught:
        fitted(Calibration(0.1), **words)
    assert not any("Charged" in note for note in getattr(caught.value, "__notes__", ()))


def three(n=6000, seed=0):
    X, y = rows(n, seed)
    return X, np.where(np.random.default_rng(seed).random(n) < 0.3, 2, y)


def test_several_classes_have_one_temperature_and_an_intercept_each(tmp_path):
    X, y = three()
    given = {**PUBLIC, **SHORT, "classes": (0, 1, 2), "epsilon": 20.0}
    model = fit(X, y, **given, seed=3, also=[Calibration(0.2)])
    found, last = Calibration.of(model), model.ledger[-1]
    assert (last["kind"], last["count"], model.status.count("by noisy counts")) == (
        "calibration",
        1,
        1,
    )
    assert len(found.data["added"]) == 3 and sum(found.data["added"]) == pytest.approx(0)
    assert f"multiplied by {found.data['slope']:.2f}" in found.lines[0]
    assert f"of 0 by {found.data['added'][0]:+.2f}, 1 by" in found.lines[0]
    w = model.w.copy()
    w[:, -1] -= found.data["added"]
    before = replace(model, w=round_parameters(w / found.data["slope"], 2.0))
    X, y = three(seed=9)

    def loss(model):
        return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()

    assert loss(model) < loss(before) - 0.01
    model.save(tmp_path / "model.json")
    assert np.array_equal(
        load_model(tmp_path / "model.json").predict_proba(X), model.predict_proba(X)
    )


@pytest.mark.parametrize(
    ("weights", "largest"),
    [({0: 1.0, 1: 2.5}, 2.5), ("balanced", None), (Weights(np.full(2000, 0.5), bound=0.75), 0.75)],
)
def test_weighted_rows_count_their_part_of_the_largest_weight(weights, largest, monkeypatch):
    counts, same = [], counted.counts_line
    monkeypatch.setattr(
        counted, "counts_line", lambda *asked: counts.append(asked[0]) or same(*asked)
    )
    of_rows = isinstance(weights, Weights)
    given = {"sample_weight" if of_rows else "class_weight": weights}
    model = fitted(Calibration(0.2), epsilon=200.0, **given)
    told = Calibration.of(model).data["largest_weight"]
    released = counts[0].reshape(2, -1).sum(axis=1)
    number = np.bincount(rows()[1])
    each = [0.5, 0.5] if of_rows else list(model.class_weights.values())
    assert released == pytest.approx(number * np.array(each) / told, abs=20)
    assert told == pytest.approx(largest or max(each))
    assert f"its weight over {told:.4g}, the largest one" in Calibration.of(model).lines[0]


@pytest.mark.parametrize("share", [0, 1, -0.5, float("nan"), "much"])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InvalidInputError, match="calibrate_share"):
        Calibration(share)


@pytest.mark.slow
def test_auto_counts_once():
    X, y = rows(20_000)
    given = {"epsilon": 4.0, "seed": 1, **PUBLIC}
    own, asked = fit(X, y, **given), fit(X, y, **given, also=[Calibration(0.04)])
    assert own.privacy["releases"]["calibration"] == 1 and "steps" not in own.privacy
    assert asked.privacy["releases"]["calibration"] == 1
    assert asked.ledger[-1]["cost"] == pytest.approx(0.04 * asked.privacy["budget"], rel=1e-6)
