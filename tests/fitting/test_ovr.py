"""One-vs-rest: the budget's parts, labels, noise, statements, and what is refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore import Schema, fit, load_model
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import DpcoreError, InvalidInputError, TargetNotMetError
from dpcore.fitting import run_sessions
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import (
    ChargeLog,
    Dataset,
    GdpAccountant,
    SeededNoise,
    TableSession,
    dataset_from_arrays,
)
from dpcore.session.charges import Charges

CLASSES = ("a", "b", "c")
PUBLIC = {"classes": CLASSES, "bounds": (0, 1), "row_norm": None}
OVR = {**PUBLIC, "multiclass": "ovr"}


def rows(n=240, seed=4):
    """Return rows of three classes that linear models tell apart."""
    rng = np.random.default_rng(seed)
    place = rng.choice(3, n, p=[0.4, 0.3, 0.3])
    centres = np.array([[0.1, 0.1], [0.9, 0.2], [0.2, 0.9]])
    X = np.clip(centres[place] + rng.normal(0, 0.1, (n, 2)), 0, 1)
    return X, np.array(CLASSES)[place]


@pytest.fixture
def charges(monkeypatch):
    """The entries of every run's ledger, in the order in which they were charged."""
    made, charge = [], ChargeLog.charge

    def recorded(self, entry):
        if type(self) is ChargeLog:
            made.append(entry)
        return charge(self, entry)

    monkeypatch.setattr(ChargeLog, "charge", recorded)
    return made


def composed(accountant, entries):
    """Return the filter after all entries; BudgetExceededError for more than it holds."""
    for entry in entries:
        accountant = accountant.compose(entry.event)
    return accountant


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ({"algo": "outpert"}, GdpAccountant),
        ({"algo": "dp-gd", "params": {"steps": 3}}, GdpAccountant),
        ({"algo": "privgene", "params": {"candidates": 20}}, ZcdpAccountant),
        ({"algo": "dp-gd", "loss": "huber-svm", "accountant": "zcdp"}, ZcdpAccountant),
    ],
)
def test_one_filter_of_the_whole_budget_holds_all_fits(charges, words, whole):
    X, y = rows()
    model = fit(X, y, epsilon=2.0, **OVR, **words)
    after = composed(whole.from_budget(2.0, 1e-8), charges)
    assert 0.9 < after.spent / after.budget <= 1.0
    privacy = model.privacy
    assert (privacy["epsilon"], privacy["delta"], privacy["fits"]) == (2.0, 1e-8, 3)
    assert privacy["spent"] == pytest.approx(after.spent)
    assert privacy["budget"] == pytest.approx(after.budget)
    assert sum(privacy["releases"].values()) == len(charges)
    assert sum(entry["count"] for entry in model.ledger) == len(charges)


def test_fits_that_each_take_the_whole_budget_are_caught(charges, monkeypatch):
    # The broken twin of the test above: a budget that is not split.
    monkeypatch.setattr("dpcore.fitting.ovr.equal_part", lambda accountant, parts: accountant)
    X, y = rows()
    fit(X, y, algo="outpert", epsilon=2.0, **OVR)
    with pytest.raises(DpcoreError, match="budget"):
        composed(GdpAccountant.from_budget(2.0, 1e-8), charges)


@pytest.mark.parametrize(("name", "value"), [("rho", 0.1), ("mu", 0.4)])
def test_a_native_budget_is_split_in_its_own_unit(charges, name, value):
    X, y = rows()
    words = {**OVR, name: value}
    model = fit(X, y, algo="dp-gd", params={"steps": 3}, **words)
    privacy = model.privacy
    whole = {"rho": ZcdpAccountant, "mu": GdpAccountant}[name].of_native_budget(value, 1e-8)
    after = composed(whole, charges)
    assert 0.99 < after.spent / whole.budget <= 1.0
    assert privacy[name] == value and privacy["epsilon"] == whole.epsilon


def test_an_accountant_of_one_release_is_split_by_basic_composition(charges):
    X, y = rows()
    charged = Charges()
    plan = make_plan(Settings(algo="objpert", epsilon=3.0, delta=3e-6, multiclass="ovr"))
    model = Run(plan, dataset_from_arrays(X, y, **PUBLIC), charges=charged).model()
    # Each release has a delta of at most 1e-6 at epsilon 1; 3 of them are (3, 3e-6)-DP.
    assert len(charges) == 3
    assert all(0.5e-6 < entry.cost <= 1e-6 for entry in charges)
    assert sum(Fraction(entry.cost) for entry in charges) <= Fraction(3e-6)
    assert model.privacy["spent"] <= model.privacy["budget"] <= 3e-6
    assert (model.privacy["epsilon"], model.privacy["delta"]) == (3.0, 3e-6)
    assert charged.charged == tuple(model.privacy[key] for key in ("spent", "budget", "unit"))


@pytest.mark.parametrize("accountant", ["rdp", "single"])
def test_any_accountant_that_holds_the_releases_does(accountant):
    X, y = rows()
    model = fit(X, y, algo="objpert", epsilon=8.0, accountant=accountant, **OVR)
    assert model.privacy["accountant"] == accountant and model.privacy["private"]
    assert model.privacy["spent"] <= model.privacy["budget"]


def test_private_bounds_are_released_once_and_the_rest_is_split():
    X, y = rows()
    words = {**OVR, "bounds": None, "private_bounds": True, "row_norm": 1.0}
    model = fit(X, y, algo="dp-gd", params={"steps": 2}, epsilon=8.0, **words)
    assert model.privacy["releases"]["bounds"] == 1 and model.privacy["releases"]["count"] == 3
    budget = GdpAccountant.from_budget(8.0, 1e-8).budget
    charged = sum(entry["cost"] for entry in model.ledger)
    assert charged == pytest.approx(model.privacy["spent"])
    assert 0.99 * budget < charged <= budget


def test_labels_of_a_class_are_a_function_of_the_row_alone():
    X, y = rows(60)
    data = dataset_from_arrays(X, y, **PUBLIC)

    def by_places_in_use(dataset, k):
        # Broken: which class is the k-th depends on which others have rows.
        return replace(
            dataset, y=np.where(np.unique(dataset.y, return_inverse=True)[1] == k, 1, -1)
        )

    def alike(relabelled):
        masks = [np.arange(60) != i for i in range(60)] + [data.y != k for k in range(3)]
        return all(
            np.array_equal(relabelled(data.take(mask), k).y, relabelled(data, k).y[mask])
            for mask in masks
            for k in range(3)
        )

    assert alike(Dataset.against_the_rest)
    assert not alike(by_places_in_use)


def test_neighbours_move_each_fits_gradient_by_no_more_than_the_stated_sensitivity():
    X, y = rows(12)
    data = dataset_from_arrays(X, y, **PUBLIC)
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    plan = make_plan(Settings(algo="dp-gd", loss="logistic", multiclass="ovr"))
    bound = data.schema.raw_norm_bound
    problem = Problem(plan.loss, 0.0, data.n_features, bound, bound, relation)
    query = ClippedGradientSum(problem, np.array([0.5, -2.0, 1.0]), 0.7)
    limit = query.sensitivity(relation)

    def answers(dataset):
        tables = [dataset.against_the_rest(k).table() for k in range(3)]
        return [query.start() + sum(map(query.answer_block, table.blocks)) for table in tables]

    whole = answers(data)
    for i in range(12):
        for one, other in zip(whole, answers(data.take(np.arange(12) != i)), strict=True):
            assert np.linalg.norm(one - other) * 2.0**-limit.grid_bits <= limit.bound


def distinct(w):
    """Return whether no two classes have the same coefficients."""
    return len({row.tobytes() for row in w}) == len(w)


@pytest.mark.parametrize("algo", ["outpert", "dp-gd", "privgene"])
def test_no_two_fits_share_noise(algo, monkeypatch):
    # Classes without rows have the same rows and labels: all that differs is the noise.
    X, y = rows(60)
    words = {**OVR, "classes": (*CLASSES, "nobody", "nobody else"), "algo": algo, "seed": 7}
    params = {"steps": 2} if algo == "dp-gd" else {}
    model = fit(X, y, epsilon=1.0, params=params, n0=60, **words)
    assert distinct(model.w)
    again = fit(X, y, epsilon=1.0, params=params, n0=60, **words)
    assert np.array_equal(model.w, again.w)  # All that is random comes from the seed.

    class Reseeded(TableSession):
        """The broken twin: every fit begins with the seed."""

        def __init__(self, engine, accountant, relation, noise, **words):
            super().__init__(engine, accountant, relation, SeededNoise(7), **words)

    monkeypatch.setattr(run_sessions, "TableSession", Reseeded)
    assert not distinct(fit(X, y, epsilon=1.0, params=params, n0=60, **words).w)


@pytest.mark.slow
def test_each_class_has_the_fit_of_two_classes():
    X, y = rows()
    words = {"algo": "nonprivate", "l2": 1e-3, "bounds": (0, 1), "row_norm": None}
    model = fit(X, y, classes=CLASSES, multiclass="ovr", **words)
    for k, name in enumerate(CLASSES):
        others = [other for other in CLASSES if other != name]
        alone = fit(X, y, classes=(others, name), **words)
        assert np.array_equal(model.w[k], alone.w)
    assert model.score(X, y) > 0.95 and model.loss == "logistic" and model.multiclass == "ovr"


def test_the_statement_the_report_and_the_file_say_it(tmp_path):
    X, y = rows()
    model = fit(X, y, algo="outpert", epsilon=20.0, **OVR)
    assert "It is of 3 fits, one for each class against the rest, each" in model.privacy["sentence"]
    assert model.report["multiclass"] == "ovr" and model.details["of_classes"].keys() == {*CLASSES}
    assert model.status.startswith("3 fits, one for each class against the rest: ")
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.multiclass == "ovr" and np.array_equal(again.w, model.w)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.privacy["fits"] == 3
    assert "fitted by outpert, each class against the rest" in repr(again)


def test_two_classes_are_one_fit_as_ever():
    X, y = rows()
    words = {"classes": ("a", ("b", "c")), "bounds": (0, 1), "algo": "dp-gd", "seed": 3}
    plain, asked = fit(X, y, **words), fit(X, y, multiclass="ovr", **words)
    assert np.array_equal(plain.w, asked.w) and asked.multiclass is None
    assert plain.privacy == asked.privacy and "fits" not in plain.privacy


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"multiclass": "ovo"}, "Expected multiclass='ovo' to be ovr, or left out"),
        ({"loss": "softmax"}, "makes a fit of two classes .* leave one of the"),
        ({"algo": "adassp"}, "adassp needs squared loss"),
        ({"algo": "a-ddp"}, "a-ddp asks users, whose budgets are their own"),
        ({"algo": "objpert", "loss": "hinge-svm"}, "objpert needs a smooth loss"),
        ({"algo": "objpert", "accountant": "gdp"}, "cannot be held by the gdp accountant"),
        ({"algo": "dp-gd", "accountant": "best"}, "dp-gd needs a fully adaptive filter"),
        ({"algo": "psgd", "relation": "add-or-remove-one"}, "psgd has no guarantee under"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_before_anything_is_spent(charges, words, message):
    X, y = rows(40)
    with pytest.raises(DpcoreError, match=message) as caught:
        fit(X, y, **{**OVR, "algo": "dp-gd", **words})
    assert "\n" not in str(caught.value) and not charges


def test_a_number_has_no_classes_to_part(charges):
    X, _ = rows(40)
    with pytest.raises(InvalidInputError, match="of classes, and the label is a number"):
        fit(X, X[:, 0], loss="ridge", target_bounds=(0, 1), multiclass="ovr", bounds=(0, 1))
    assert not charges


def test_the_refusal_of_several_classes_names_it():
    X, y = rows(40)
    for words in ({"algo": "objpert"}, {"loss": "hinge-svm"}):
        with pytest.raises(
            InvalidInputError, match=r"or --multiclass ovr \(multiclass='ovr'\): a fit"
        ):
            fit(X, y, **PUBLIC, **words)


def test_a_fit_that_meets_no_target_says_which_and_what_was_charged(charges):
    X, y = rows()
    words = {"algo": "output-nr", "epsilon_max": 400.0, "l2": 0.5}
    targets = {"target_risk": 0.01, "slack": 0.2}
    with pytest.raises(TargetNotMetError, match="Class 'a' against the rest, fit 1 of 3") as caught:
        fit(X, y, targets=targets, **OVR, **words)
    assert charges and caught.value.report["fits"] == 3
    assert 0 < caught.value.report["spent"] <= caught.value.report["budget"] <= 400.0
    assert any("Charged, and spent" in note for note in caught.value.__notes__)


def test_targets_are_of_each_fit_and_ex_post_epsilons_add_up():
    X, y = rows()
    words = {"algo": "output-nr", "epsilon_max": 300.0, "l2": 0.1}
    model = fit(X, y, targets={"target_excess_risk": 0.2}, **OVR, **words)
    assert model.privacy["epsilon"] == 300.0
    assert 0 < model.privacy["ex_post_epsilon"] <= 300.0


def test_units_are_protected_in_every_fit():
    import pandas as pd

    X, y = rows(80)
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y, "who": np.arange(80) // 2})
    schema = Schema.from_dict(
        {
            "unit": "who",
            "rows_per_unit": 2,
            "columns": {
                "x": {"kind": "numeric", "lower": 0, "upper": 1},
                "z": {"kind": "numeric", "lower": 0, "upper": 1},
                "y": {"kind": "label", "classes": [*CLASSES]},
                "who": {"kind": "drop"},
            },
        }
    )
    model = fit(frame, schema=schema, algo="dp-gd", multiclass="ovr", epsilon=5.0)
    assert model.privacy["unit_of_protection"].startswith("all rows of one")
    assert model.w.shape == (3, 3) and model.privacy["private"]


@pytest.mark.slow
def test_a_public_number_of_rows_is_that_of_every_fit():
    X, y = rows()
    model = fit(X, y, algo="psgd", relation="replace-one", epsilon=4.0, **OVR)
    assert model.privacy["neighboring_relation"] == "replace-one"
    assert model.privacy["spent"] <= model.privacy["budget"] <= 1e-8


def test_a_session_of_an_earlier_fit_is_closed(monkeypatch):
    from dpcore.errors import InvalidInputError

    kept, honest = [], run_sessions.run_optimizer

    def keeping(optimizer, entry, problem, session, **others):
        for old in kept:
            with pytest.raises(InvalidInputError, match="closed"):
                old._require_idle()
        kept.append(session)
        return honest(optimizer, entry, problem, session, **others)

    monkeypatch.setattr(run_sessions, "run_optimizer", keeping)
    X, y = rows()
    fit(X, y, algo="outpert", epsilon=2.0, **OVR)
    assert len(kept) == 3
    with pytest.raises(InvalidInputError, match="closed"):
        kept[-1]._require_idle()
