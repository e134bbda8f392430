"""The step of a calibration: its charge, its place among the steps, and the model that follows."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import special

from dpcore import Calibration, Evaluation, Intervals, OneVsRest, fit, load_model
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
    assert "Of the same budget 0.2 was for the step calibration" in model.privacy["sentence"]
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

    class Door(TableSession):
        def release(self, query, mechanism):
            if query.kind == "calibration":
                moved = query.sensitivity(self.relation).bound
                moved = moved if k is None else k * self.relation.rows_changed
                added.append(mechanism.noise_multiplier * moved)
            return super().release(query, mechanism)

    monkeypatch.setattr(counted, "counts_line", lambda *asked: told.append(asked) or same)
    monkeypatch.setattr("dpcore.fitting.run_state.TableSession", Door)
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

        def noted(self, door, view, kind=kind, run=kind.run):
            shown[kind] = view.solution.w
            return run(self, door, view)

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
        ({"class_weight": {0: 1.0, 1: 2.0}}, "rows or classes have weights"),
        ({"loss": "hinge-svm"}, "the loss hinge-svm has no log odds"),
        ({"intercept": False}, "the model has no intercept"),
        (
            {"loss": "softmax", "classes": (0, 1, 2)},
            "each class has a fit of its own, or margins of its own",
        ),
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
