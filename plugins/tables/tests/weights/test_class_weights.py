"""Weights of classes in a fit: public ones by name, and balanced ones for a share of the budget."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from step_words import settings

from dpcore import Schema, fit, load_model
from dpcore.errors import InvalidInputError
from dpcore.fitting import run_state
from dpcore.fitting.steps.weights import with_public_weights
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import ChargeLog, TableSession, dataset_from_arrays, load_registry
from dpcore_tables.weights import balanced
from dpcore_tables.weights.balanced import SHARE, balanced_weights
from dpcore_tables.weights.class_weighted import ClassWeighted
from dpcore_tables.weights.values import parsed_weights

Logistic = load_registry().load("loss", "logistic")

N = 4000
DRAW = np.random.default_rng(3)
X = DRAW.uniform(0, 1, (N, 3))
SCORE = X @ np.array([2.0, -1.0, 1.0]) + DRAW.normal(0, 0.3, N)
RARE = (SCORE > 2.1).astype(int)  # one row in fifteen
PLACES = np.digitize(SCORE, [0.2, 2.1])
BOUNDED = {"bounds": (0, 1), "row_norm": None}
FEW = {"algo": "dp-gd", "params": {"steps": 60}}
SLOW = ("dp-agd", "privgene", "rsgd-ar", "sgd-ma")
ALGORITHMS = ["objpert", "outpert", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
NAMES = ("common", "usual", "rare")


def fitted(y=RARE, classes=(0, 1), **options):
    usual = {"epsilon": 4.0, "delta": 1e-6, "n0": N, **BOUNDED, **FEW}
    return fit(X, y, classes=classes, **{**usual, **options})


def recall(model, y=RARE, rare=1):
    return np.mean(model.predict(X[y == rare]) == rare)


@pytest.fixture
def charges(monkeypatch):
    """Every charge of every session, but for those of dry runs."""
    made, charge = [], ChargeLog.charge

    def recorded(self, *arguments):
        made.append(arguments)
        return charge(self, *arguments)

    monkeypatch.setattr(ChargeLog, "charge", recorded)
    return made


@pytest.mark.parametrize("weights", [{1: 8}, "balanced"])
def test_more_rows_of_a_rare_class_are_found(weights):
    plain, weighted = fitted(), fitted(class_weight=weights)
    assert recall(weighted) > recall(plain) + 0.2
    assert plain.class_weights == {} and "class_weights" not in plain.report
    assert weighted.privacy["private"] and weighted.class_weights["1"] > 5


def test_three_classes_are_weighted_by_name_and_by_counts():
    y = np.array(NAMES)[PLACES]
    plain = fitted(y, NAMES)
    named = fitted(y, NAMES, class_weight={"rare": 10, "common": 2})
    even = fitted(y, NAMES, class_weight="balanced")
    assert named.class_weights == {"common": 2.0, "usual": 1.0, "rare": 10.0}
    share = np.bincount(PLACES, minlength=3) / N
    assert list(even.class_weights.values()) == pytest.approx(
        np.minimum(1 / 3 / share, 10), rel=0.2
    )
    for model in (named, even):
        assert recall(model, y, "rare") > recall(plain, y, "rare") + 0.2


def test_without_weights_nothing_changes():
    # Log odds of a weighted fit are left as they are.
    asked = {"seed": 1, "params": {"calibrated": False}}
    unit = fitted(class_weight={0: 1.0, 1: 1}, **asked)
    assert np.allclose(unit.w, fitted(**asked).w)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_other_algorithms_take_public_weights(algo):
    options = {"l2": 1e-2, "params": {}, "algo": algo}
    options |= {"relation": "replace-one"} if algo == "rsgd-ar" else {}
    model = fitted(class_weight={1: 3}, **options)
    assert model.class_weights == {"0": 1.0, "1": 3.0} and np.isfinite(model.w).all()


def test_the_bounds_of_what_is_perturbed_are_those_of_the_heaviest_row():
    options = {"algo": "objpert", "params": {"regularisation": 500.0}}
    scale = fitted(**options).details["noise_scale"]
    heavy = fitted(class_weight={1: 4}, **options).details["noise_scale"]
    assert heavy > 3.9 * scale


def test_weights_are_in_the_file_and_the_words_of_a_model(tmp_path):
    model = fitted(class_weight={1: 8})
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.class_weights == model.class_weights == {"0": 1.0, "1": 8.0}
    assert "logistic (class weights 0: 1, 1: 8) loss" in repr(again)
    assert again.loss_parameters == {} and model.report["class_weights"]["1"] == 8.0
    of_counts = "follow from their counts"
    assert of_counts not in model.privacy["sentence"]
    assert of_counts in fitted(class_weight="balanced").privacy["sentence"]


RELATIONS = ("add-or-remove-one", "replace-one")
UNITS_MORE = {"add-or-remove-one": 1.0, "replace-one": 2**0.5}
"""Of a unit that is replaced all k rows may leave a class and all k others come to one: 2 k."""


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("accountant", "mechanism"), [("gdp", "Gaussian"), ("zcdp", "Gaussian"), ("pure", "Geometric")]
)
def test_counts_are_charged_to_the_runs_own_budget(accountant, mechanism, relation):
    delta = 0.0 if accountant == "pure" else 1e-6
    own = {} if accountant == "pure" else {"algo": "dp-gd", "params": {"steps": "3"}}
    asked = settings(
        epsilon=2.0,
        delta=delta,
        accountant=accountant,
        relation=relation,
        class_weight="balanced",
        **own,
    )
    sessions = []
    data = dataset_from_arrays(X, RARE, classes=(0, 1), **BOUNDED)
    model = Run(make_plan(asked), data, on_release=sessions.append).model()
    first, last = sessions[0].ledger, sessions[-1].ledger
    assert last == first and [e.kind for e in first].count("histogram") == 1
    assert first[0].kind == "histogram"
    assert first[0].mechanism == mechanism
    budget = Fraction(model.privacy["budget"])
    cost, most = Fraction(first[0].cost), SHARE * budget
    assert 0.999 * most < cost <= most * (1 + Fraction(1, 2**40))
    assert len(last) > 1 and Fraction(model.privacy["spent"]) <= budget
    assert model.privacy["releases"]["histogram"] == 1
    assert model.privacy["balanced"] == {"share": 0.05}
    assert "for 5% of the same budget" in model.privacy["sentence"]


class RecordingSession(TableSession):
    """A session that keeps what it released, but for what a dry run did."""

    released: list = []

    def release(self, query, mechanism):
        value = super().release(query, mechanism)
        if not self._noise.seeded:
            scale = mechanism.scale(self._sensitivity(query))
            self.released.append((value, float(scale.over(1.0, 0))))
        return value


def follow_from_what_was_released(model):
    """Raise AssertionError unless the weights follow from what the session released."""
    ((counts, scale),) = RecordingSession.released
    expected = balanced_weights(counts, max(1.0, scale), 10.0)
    assert list(model.class_weights.values()) == pytest.approx(expected, rel=1e-9)


@pytest.fixture
def recorded(monkeypatch):
    RecordingSession.released = []
    monkeypatch.setattr(run_state, "TableSession", RecordingSession)


def test_balanced_weights_follow_from_what_the_session_released(recorded):
    follow_from_what_was_released(fitted(class_weight="balanced"))


def test_weights_of_exact_counts_are_found(recorded, monkeypatch):
    def exact(counts, floor, largest):
        return balanced_weights(np.bincount(RARE), floor, largest)

    monkeypatch.setattr(balanced, "balanced_weights", exact)
    with pytest.raises(AssertionError):
        follow_from_what_was_released(fitted(class_weight="balanced", epsilon=0.5))


def test_balanced_weights_are_within_their_limits():
    counts = np.array([90, 10, 0, -5, 900])
    weights = balanced_weights(counts, 2.0, 10.0)
    assert weights == pytest.approx((1004 / 450, 10.0, 10.0, 10.0, 1004 / 4500))
    assert balanced_weights(np.zeros(2), 1.0, 10.0) == (1.0, 1.0)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_unit_moves_the_counts_by_all_of_its_rows(relation, recorded):
    frame = pd.DataFrame({"id": np.arange(N) // 4, "x": X[:, 0], "y": RARE})
    columns = {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": [0, 1]},
    }
    schema = Schema.from_dict({"unit": "id", "rows_per_unit": 4, "columns": columns})
    few = {"params": {"steps": "3"}, "relation": relation}
    plan = make_plan(settings("dp-gd", epsilon=2.0, class_weight="balanced", **few))
    Run(plan, dataset_from_arrays(frame, None, schema=schema)).model()
    Run(plan, dataset_from_arrays(X, RARE, classes=(0, 1), **BOUNDED)).model()
    of_units, of_rows = (scale for _, scale in RecordingSession.released)
    assert of_units == pytest.approx(4 * of_rows * UNITS_MORE[relation])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"class_weight": {2: 5}}, "has no class 2"),
        ({"class_weight": {1: 0}}, "Expected the weight 0 of the class 1"),
        ({"class_weight": {1: -3.0}}, "Expected the weight -3.0"),
        ({"class_weight": {1: float("nan")}}, "Expected the weight nan"),
        ({"class_weight": {1: float("inf")}}, "Expected the weight inf"),
        ({"class_weight": {1: True}}, "Expected the weight True"),
        ({"class_weight": {1: "many"}}, "Expected the weight 'many'"),
        ({"class_weight": {}}, "'balanced' or a weight"),
        ({"class_weight": "even"}, "class_weight='even' to be 'balanced'"),
        ({"class_weight": 3}, "class_weight=3 to be"),
        ({"class_weight": "balanced", "largest_weight": 0.5}, "largest_weight=0.5"),
        ({"class_weight": {1: 2}, "algo": "majority", "params": {}}, "takes no weights"),
        (
            {"class_weight": {1: 2}, "algo": "dp-agd", "params": {}, "as_published": True},
            "constants",
        ),
        ({"class_weight": {1: 2}, "algo": "a-ddp", "params": {}}, "a-ddp takes no class_weight"),
        ({"class_weight": "balanced", "algo": "nonprivate", "params": {}}, "no filter of a budget"),
        ({"class_weight": "balanced", "algo": "objpert", "params": {}}, "bounds one release"),
        ({"class_weight": "balanced", "algo": "sgd-adv", "params": {}}, "fixed schedule"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_charge(options, told, charges):
    with pytest.raises(InvalidInputError, match=told):
        fitted(**options)
    assert not charges


def test_weights_of_a_real_valued_target_are_refused(charges):
    with pytest.raises(InvalidInputError, match="Weights are of classes"):
        fit(X, SCORE, target_bounds=(-1, 3), loss="ridge", class_weight={1: 2}, **BOUNDED)
    assert not charges


def test_what_refuses_the_run_refuses_it_before_the_counts(recorded):
    with pytest.raises(InvalidInputError, match="clip_unit needs units"):
        fitted(class_weight="balanced", params={"clip_unit": True})
    assert not RecordingSession.released


def test_classes_are_named_as_a_label_reads_them():
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 1}}
    label = {"kind": "label", "classes": ["<=50K", [">50K", ">50K."]]}
    schema = Schema.from_dict({"columns": {**columns, "y": label}})
    named = parsed_weights([">50K.=3", "<=50K=.5"])
    plan = with_public_weights(make_plan(settings("dp-gd", class_weight=named)), schema.label)
    assert plan.loss == ClassWeighted(Logistic(), (0.5, 3.0))
    truth = replace(schema.label, classes=(("false",), ("true",)))
    plan = with_public_weights(make_plan(settings("dp-gd", class_weight={True: 3})), truth)
    assert plan.loss.weights == (1.0, 3.0)


def test_a_command_lines_weights():
    assert parsed_weights(None) is None and parsed_weights(["balanced"]) == "balanced"
    assert parsed_weights(["a=1,b=2", "c = 3"]) == {"a": "1", "b": "2", "c": " 3"}
    for texts in (["a"], ["a=1,a=2"], ["=3"], ["balanced", "a=1"]):
        with pytest.raises(InvalidInputError, match="--class-weight"):
            parsed_weights(texts)
