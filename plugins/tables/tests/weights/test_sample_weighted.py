"""Weights of rows: facts up to the bound, gradients under the clip, and who does not read them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from coded_rows import coded
from numba import config

from dpcore.data.weighted_labels import PAIRS, paired, plain_labels
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import (
    GdpAccountant,
    LocalEngine,
    LossFacts,
    SeededNoise,
    Sensitivity,
    Table,
    TableSession,
    load_registry,
)
from dpcore_baselines.queries.gradient_sum import bounded_labels
from dpcore_lab.checks import check_loss
from dpcore_tables.statistics import CategoricalColumn, Histogram
from dpcore_tables.weights.class_weighted import ClassWeighted
from dpcore_tables.weights.sample_weighted import SampleWeighted

Logistic, Softmax, Squared = (
    load_registry().load("loss", name) for name in ("logistic", "softmax", "ridge")
)

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
BOUND = 4.0
# Of a row of weight 0 the kernel divides by 0 and does not use it.
pytestmark = pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")


def problem_of(loss, n_margins=1, width=4, **more):
    facts = {"l2": 0.0, "row_norm": 2.0, "raw_norm_bound": 3.0, "relation": ADD} | more
    return Problem(loss=SampleWeighted(loss, BOUND), n_features=width, n_margins=n_margins, **facts)


def rows_of(n_classes, n=200, width=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    X *= np.minimum(1.0, 2.9 / np.linalg.norm(X, axis=1))[:, None]
    places = rng.integers(0, n_classes, n).astype(float)
    weights = rng.choice([0.0, 0.3, 1.0, BOUND, 1e9], n)
    return X, 2 * places - 1 if n_classes == 2 else places, weights


def table_of(X, y, weights):
    return Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0, weights=weights)


@dataclass(frozen=True, slots=True)
class WithWeights(SampleWeighted):
    """A weighted loss of plain labels, for the check: each row's weight is one of its label's."""

    loss: Any = Logistic()
    bound: float = BOUND
    name = "with-weights"
    classification = True
    convex = True
    thread_safe = True
    lipschitz = BOUND
    smoothness = BOUND / 4

    def value(self, z, y, out):
        self._weighted.value(z, paired(y, np.where(y > 0, 9.0, 0.5)), out)

    def dvalue(self, z, y, out):
        self._weighted.dvalue(z, paired(y, np.where(y > 0, 9.0, 0.5)), out)

    @property
    def _weighted(self):
        return SampleWeighted(self.loss, self.bound)


class Unbounded(WithWeights):
    """A broken twin: weights are taken as they are."""

    name = "unbounded"
    classification = True
    lipschitz = BOUND
    smoothness = BOUND / 4

    def dvalue(self, z, y, out):
        Logistic().dvalue(z, y, out)
        out *= np.where(y > 0, 9.0, 0.5)


def test_the_facts_of_a_loss_of_weighted_rows_hold():
    check_loss(WithWeights())
    facts = LossFacts.of(SampleWeighted(Logistic(), BOUND))
    assert (facts.lipschitz, facts.smoothness) == (BOUND, BOUND / 4)
    assert (
        facts.weighs_rows and facts.convex and facts.nonincreasing and facts.largest_weight > BOUND
    )
    both = LossFacts.of(SampleWeighted(ClassWeighted(Softmax(), (1.0, 2.0, 0.5)), BOUND))
    assert both.multiclass and both.lipschitz >= 2 * BOUND * 2**0.5
    assert LossFacts.of(SampleWeighted(Squared(), BOUND)).lipschitz == np.inf
    assert not LossFacts.of(SampleWeighted(Squared(), BOUND)).quadratic


def test_weights_above_their_bound_are_found():
    with pytest.raises(AssertionError, match="lipschitz"):
        check_loss(Unbounded())


@pytest.mark.parametrize(("loss", "k"), [(Logistic(), 2), (Softmax(), 3)])
def test_the_gradient_is_that_of_each_row_times_its_weight(loss, k):
    X, y, weights = rows_of(k)
    w = np.random.default_rng(1).normal(size=(k, 4) if k > 2 else 4)
    query = ClippedGradientSum(problem_of(loss, k if k > 2 else 1, capacity=200), w, 50.0)
    answer = LocalEngine(table_of(X, y, weights)).answer(query)
    expected = np.zeros(w.shape)
    plain = Problem(loss, 0.0, 4, 2.0, 3.0, relation=ADD, n_margins=k if k > 2 else 1, capacity=200)
    of_one = ClippedGradientSum(plain, w, 50.0)
    for i, weight in enumerate(np.minimum(weights, BOUND)):
        table = Table.from_matrix(X[i : i + 1], y[i : i + 1], raw_norm_bound=3.0, row_norm=2.0)
        expected += weight * of_one.answer_block(table.blocks[0])
    scale = 2.0 ** -(Problem.FEATURE_BITS + query.bits)
    np.testing.assert_allclose(answer * scale, expected * scale, atol=2e-3)


@pytest.mark.parametrize(("loss", "k"), [(Logistic(), 2), (Softmax(), 3)])
def test_a_row_contributes_the_clip_at_most_whatever_its_weight(loss, k):
    X, y, weights = rows_of(k, 40)
    query = ClippedGradientSum(problem_of(loss, k if k > 2 else 1), np.zeros((k, 4)[2 // k :]), 0.3)
    sizes = []
    for i in range(40):
        block = table_of(X[i : i + 1], y[i : i + 1], weights[i : i + 1]).blocks[0]
        part = query.answer_block(block).astype(float).ravel()
        sizes.append(np.linalg.norm(part) * 2.0 ** -(Problem.FEATURE_BITS + query.bits))
    assert 0.99 * 0.3 < max(sizes) <= query.sensitivity(ADD).bound == 0.3


def test_every_layout_releases_the_same_bits():
    rows, _ = coded(300)
    _, y, weights = rows_of(2, 300)
    query = ClippedGradientSum(
        problem_of(Logistic(), 1, rows.shape[1]), np.ones(rows.shape[1]), 0.5
    )
    released = set()
    for X in (rows.toarray(), rows.tocsr(), rows):
        filter = GdpAccountant.from_budget(1.0, 1e-6)
        session = TableSession(LocalEngine(table_of(X, y, weights)), filter, ADD, SeededNoise(1))
        released.add(session.release(query, Gaussian(20.0)).tobytes())
    assert len(released) == 1


def test_counts_are_of_rows_and_not_of_weights():
    X, y, weights = rows_of(2)
    block = table_of(X, y, weights).blocks[0]
    query = Histogram(CategoricalColumn((), ("a", "b")))
    assert query.answer_block(block).tolist() == [np.sum(y < 0), np.sum(y > 0)]
    assert bounded_labels(block).dtype == PAIRS


class Sum:
    """A sum of somebody else's that knows of no weights."""

    kind = "sum"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([np.count_nonzero(block.y > 0)])

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


def test_a_sum_that_does_not_read_weights_is_refused_before_a_charge():
    X, y, weights = rows_of(2)
    session = TableSession(
        LocalEngine(table_of(X, y, weights)),
        GdpAccountant.from_budget(1.0, 1e-6),
        ADD,
        SeededNoise(1),
        problem=problem_of(Logistic()),
    )
    with pytest.raises(InvalidInputError, match="Sum does not read the weights of rows"):
        session.release(Sum(), Gaussian(20.0))
    assert not session.ledger
    session.release(RowCount(), Gaussian(20.0))
    if config.DISABLE_JIT:  # Over no rows, Python finds nothing to object to.
        return
    facts = Problem(Logistic(), 0.0, 4, 2.0, 3.0, relation=ADD)
    with pytest.raises(InvalidInputError, match="does not read the weights"):
        session.release(ClippedGradientSum(facts, np.zeros(4), 1.0), Gaussian(20.0))
    assert len(session.ledger) == 1


def test_a_loss_of_weighted_rows_takes_no_plain_labels():
    z, y = np.zeros(3), np.ones(3)
    for name in ("value", "dvalue", "precise_dvalue"):
        with pytest.raises(InvalidInputError, match="without their weights"):
            getattr(SampleWeighted(Logistic(), BOUND), name)(z, y, np.empty(3))


def test_pairs_of_label_and_weight():
    y = paired(np.array([3.0, -1.0]), np.array([2.0, 0.0]))
    assert plain_labels(y).tolist() == [3.0, -1.0] and plain_labels(np.ones(2)).tolist() == [1, 1]
    assert Table.clamped_labels(y).tolist() == [(1.0, 2.0), (-1.0, 0.0)]
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]):
        with pytest.raises(DataError, match=">= 0 for each row.$"):
            paired(np.ones(2), np.array(weights))


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bound_is_a_number(bound):
    with pytest.raises(InvalidInputError, match="weight_bound"):
        SampleWeighted(Logistic(), bound)
    with pytest.raises(InvalidInputError, match="already"):
        SampleWeighted(SampleWeighted(Logistic(), 1.0), 1.0)
