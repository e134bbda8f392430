"""Fits of rows that have weights of their own."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from dpcore import fit, load_model
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import ChargeLog, dataset_from_arrays
from dpcore_sklearn import PrivateLogisticRegression

N = 3000
DRAW = np.random.default_rng(4)
X = DRAW.uniform(0, 1, (N, 2))
Y = np.where(X[:, 0] + 0.3 * DRAW.normal(size=N) > X[:, 1], 1, -1)
Y[:1000] = -Y[:1000]  # A third of the rows says the opposite, at the weight 0.1.
W = np.where(np.arange(N) < 1000, 0.1, 1.0)
USUAL = {"epsilon": 4.0, "delta": 1e-6, "bounds": (0, 1), "row_norm": None, "n0": N}
WEIGHTED = {"sample_weight": W, "weight_bound": 2.0}


def fitted(**options):
    return fit(X, Y, **{**USUAL, "algo": "dp-gd", "params": {"steps": 60}, **options})


@pytest.fixture
def charges(monkeypatch):
    made, charge = [], ChargeLog.charge

    def recorded(self, *arguments):
        made.append(arguments)
        return charge(self, *arguments)

    monkeypatch.setattr(ChargeLog, "charge", recorded)
    return made


def test_the_exact_fit_is_scikit_learns():
    model = fitted(algo="nonprivate", params={}, l2=1e-3, **WEIGHTED)
    own = LogisticRegression(C=1 / (N * 1e-3), tol=1e-8, fit_intercept=False)
    own.fit(np.column_stack([X, np.ones(N)]), Y, sample_weight=W)
    assert [*model.coef, model.intercept] == pytest.approx(own.coef_[0].tolist(), abs=0.02)


SLOW = ("dp-agd", "privgene", "rsgd-ar", "sgd-ma")
QUICK = ("auto", "objpert", "outpert")
ALGORITHMS = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_rows_count_as_much_as_they_weigh(algo):
    relation = {"relation": "replace-one"} if algo == "rsgd-ar" else {}
    options = {"algo": algo, "params": {}, "l2": 1e-3, "epsilon": 20.0, **relation}
    if algo == "privgene":
        options |= {"epsilon": 100.0}
    model = fitted(**options, **WEIGHTED)
    right = np.mean(model.predict(X)[1000:] == Y[1000:])
    assert right > (0.55 if algo in ("privgene", "outpert") else 0.65)
    assert model.weight_bound == 2.0 and "rows weighted up to 2" in repr(model)


def test_a_weight_of_nought_leaves_a_row_out():
    rows = dataset_from_arrays(X[1000:], Y[1000:], classes=(-1, 1), bounds=(0, 1), row_norm=None)
    options = {"algo": "nonprivate", "params": {}, "l2": 1e-2}
    model = fitted(**options, sample_weight=1.0 * (np.arange(N) >= 1000), weight_bound=1.0)
    settings = Settings("nonprivate", l2=1e-2 * 1.5)  # the mean is over all rows
    other = Run(make_plan(settings), rows).model()
    np.testing.assert_allclose(model.w, other.w, atol=1e-3)


def test_weights_are_held_to_their_bound():
    options = {"algo": "nonprivate", "params": {}, "l2": 1e-2, "weight_bound": 1.0}
    held = fitted(**options, sample_weight=np.full(N, 7.0))
    np.testing.assert_allclose(held.w, fitted(**options, sample_weight=np.ones(N)).w)


@pytest.mark.slow
def test_targets_classes_and_private_bounds_go_with_weights(tmp_path):
    target = X[:, 0] - 0.5
    options = {"target_bounds": (-1, 1), "loss": "ridge", "bounds": (0, 1), "row_norm": None}
    model = fit(X, target, epsilon=4.0, delta=1e-6, **options, **WEIGHTED)
    assert model.algo["name"] == "dp-gd"  # auto: the matrix of products is of rows of weight 1
    both = fitted(class_weight="balanced", **WEIGHTED)
    assert set(both.class_weights) == {"-1", "1"} and both.weight_bound == 2.0
    private = fitted(bounds=None, private_bounds=True, **WEIGHTED)
    assert private.privacy["releases"]["bounds"] == 1
    both.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.weight_bound == 2.0 and again.report == {}


@pytest.mark.slow
def test_a_frame_and_an_estimator_take_them():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    clf = PrivateLogisticRegression(
        epsilon=8.0, classes=(-1, 1), bounds=(0, 1), weight_bound=2.0, n_public=N
    ).fit(frame, Y, sample_weight=W.tolist())
    assert clf.model_.weight_bound == 2.0
    assert np.mean(clf.predict(frame)[1000:] == Y[1000:]) > 0.8
    assert clf.fit(frame, Y).model_.weight_bound is None


def test_algorithms_of_products_are_refused(charges):
    options = {"target_bounds": (-1, 1), "loss": "ridge", "bounds": (0, 1), "row_norm": None}
    with pytest.raises(InvalidInputError, match="needs squared loss of rows without weights"):
        fit(X, X[:, 0] - 0.5, algo="gram-ridge", **options, **WEIGHTED)
    assert not charges


def wrong(place, value):
    weights = W.copy()
    weights[place] = value
    return weights


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sample_weight": W}, r"needs a public bound.*Weights\(w, bound="),
        ({"weight_bound": 2.0}, "Expected sample_weight beside weight_bound"),
        ({**WEIGHTED, "weight_bound": 0}, "Expected weight_bound=0"),
        ({**WEIGHTED, "weight_bound": float("nan")}, "Expected weight_bound=nan"),
        ({**WEIGHTED, "weight_bound": "2"}, "Expected weight_bound='2'"),
        ({**WEIGHTED, "algo": "majority", "params": {}}, "takes no weights"),
        ({**WEIGHTED, "algo": "a-ddp", "params": {}}, "a-ddp takes no sample_weight"),
        ({**WEIGHTED, "algo": "dp-agd", "params": {}, "as_published": True}, "constants"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_charge(options, told, charges):
    with pytest.raises(InvalidInputError, match=told):
        fitted(**options)
    assert not charges


def test_a_target_excess_risk_is_refused_before_a_charge(charges):
    asked = {"targets": {"target_excess_risk": 0.5}, "relation": "replace-one", "l2": 0.1}
    with pytest.raises(DpcoreError, match="weights of their own"):
        fitted(algo="output-nr", params={}, epsilon=None, delta=1e-8, **asked, **WEIGHTED)
    assert not charges


@pytest.mark.parametrize(
    "weights",
    [
        W[:-1],
        wrong(7, -31.25),
        wrong(7, np.nan),
        wrong(7, np.inf),
        ["31.25x"] * N,
        np.ones((N, 2)),
        31.25,
    ],
)
def test_a_weight_that_is_none_is_refused_without_a_word_of_rows(weights, charges):
    with pytest.raises(DataError, match="Expected sample_weight to be") as refused:
        fitted(sample_weight=weights, weight_bound=2.0)
    shown = str(refused.value)
    assert not any(private in shown for private in ("31.25", str(N), str(N - 1), "7"))
    assert not charges and refused.value.__cause__ is None


def test_weights_of_what_is_not_in_memory_are_refused(charges):
    with pytest.raises(InvalidInputError, match="beside rows in memory"):
        fit("rows.csv", **WEIGHTED)
    frame = pd.DataFrame({"id": np.arange(N) // 3, "x": X[:, 0], "y": Y})
    columns = {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": [-1, 1]},
    }
    schema = {"unit": "id", "rows_per_unit": 3, "columns": columns}
    with pytest.raises(InvalidInputError, match="have their weights in a column of their own"):
        fit(frame, schema=schema, **WEIGHTED)
    rows = dataset_from_arrays(X, Y, classes=(-1, 1), bounds=(0, 1), row_norm=None)
    with pytest.raises(InvalidInputError, match="beside weight_bound, and only there"):
        Run(make_plan(Settings("dp-gd", weight_bound=2.0)), rows).model()
    assert not charges


def test_a_query_that_does_not_know_of_weights_is_refused_whatever_the_number_of_rows():
    from dataclasses import dataclass
    from typing import ClassVar

    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import LocalEngine
    from dpcore.session.dry_run import DryRun
    from dpcore_tables.weights.sample_weighted import SampleWeighted

    @dataclass(frozen=True)
    class Ignorant:
        kind: ClassVar[str] = "ignorant"

        def start(self):
            return np.zeros(1, dtype=np.int64)

        def answer_block(self, block):
            return np.array([(block.y > 0).sum()], dtype=np.int64)

    for n in (0, 1, 3):
        data = dataset_from_arrays(X[:n], Y[:n].astype(float), bounds=(0, 1), row_norm=None)
        table = replace(data, weights=W[:n]).table()
        problem = Problem(
            loss=SampleWeighted(Settings(loss="logistic").make_loss(), 2.0),
            l2=0.0,
            n_features=table.n_features,
            row_norm=table.row_norm,
            raw_norm_bound=table.raw_norm_bound,
            relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        )
        with pytest.raises(InvalidInputError, match="does not read the weights"):
            DryRun(LocalEngine(table), problem).ask(Ignorant(), ())


def test_weights_are_held_to_their_bound_before_any_part_sees_them():
    from dpcore_tables.weights.of_rows import with_sample_weight

    data = dataset_from_arrays(X[:3], Y[:3].astype(float), bounds=(0, 1), row_norm=None)
    assert with_sample_weight(data, None, [0.5, 2.0, 1e300], 2.0).weights.tolist() == [
        0.5,
        2.0,
        2.0,
    ]
