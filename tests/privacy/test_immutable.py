"""A part of dpcore's cannot be altered from outside unnoticed."""

import copy
import importlib
import inspect
import math
import pickle
import pkgutil
from dataclasses import FrozenInstanceError, replace
from enum import Enum
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numba import njit

import dpcore.losses
import dpcore.mechanisms
import dpcore.queries
import dpcore_accuracy_first
import dpcore_baselines
import dpcore_dp_agd
import dpcore_rsgd_ar
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.plugin import ClippedGradientSum, Gaussian, Problem, RowCount, Solution, round_to
from dpcore.plugin.parts import LocalEngine, Logistic, PureAccountant, SeededNoise, TableSession
from dpcore.privacy.immutable import attributes, constant, private_copy, require_untouched, sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.session.trust_boundary import parts_within
from dpcore_a_ddp.record_gradient import RecordGradientSum
from dpcore_a_ddp.skellam_noise.share import SkellamShare
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.samples import PoissonSample
from dpcore_accuracy_first.noise_chain.mechanism import NoiseReduction
from dpcore_accuracy_first.objectives.loss_sum import ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import Minimizer
from dpcore_accuracy_first.objectives.public_ball import PublicBall
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_baselines.perturbation.bounded import BoundedMinimizer
from dpcore_baselines.perturbation.perturbed import PerturbedMinimizer
from dpcore_baselines.queries.gradient_sum import GradientSum
from dpcore_baselines.queries.standardization import Standardization
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_lab.replay.canonical import canonical

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
ROWS = make_rows(64)
ACTS = ("answer_block", "answer_table", "derive", "dvalue", "release", "begin")


def parts_of_ours():
    packages = (
        dpcore.losses,
        dpcore.mechanisms,
        dpcore.queries,
        dpcore_accuracy_first,
        dpcore_baselines,
        dpcore_dp_agd,
        dpcore_rsgd_ar,
    )
    names = [m.name for p in packages for m in pkgutil.iter_modules(p.__path__, p.__name__ + ".")]
    modules = [importlib.import_module(name) for name in names]
    found = {
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and any(hasattr(cls, name) for name in ACTS)
    }
    facts = {Problem, PublicBall, RecordGradientSum, Sensitivity, SkellamShare, Standardization}
    return sorted(found | facts, key=lambda cls: cls.__qualname__)


def problem_of(relation=ADD, **changes):
    return make_problem(ROWS, relation, Logistic(), l2=0.1, **changes)


def session(problem=None, accountant=None, engine=None):
    accountant = accountant or ZcdpAccountant.from_budget(50.0, 1e-6)
    relation = ADD if problem is None else problem.relation
    engine = engine or LocalEngine(ROWS.table())
    return TableSession(engine, accountant, relation, SeededNoise(1), problem=problem)


def refused_uncharged(opened, query, match):
    with pytest.raises(InvalidInputError, match=match):
        opened.release(query, Gaussian(20.0))
    assert not opened.ledger and opened.accountant.spent == 0


@pytest.mark.parametrize("cls", parts_of_ours(), ids=lambda cls: cls.__qualname__)
def test_every_part_of_ours_is_sealed_and_holds_no_dictionary(cls):
    assert cls.__dictoffset__ == 0
    part = object.__new__(cls)
    for name in ("sensitivity", "kind", "lipschitz", "loss", "bound", "held", "__class__"):
        with pytest.raises(FrozenInstanceError, match=f"{cls.__name__}.{name} is not to be set"):
            setattr(part, name, 1e-9)
        with pytest.raises(FrozenInstanceError, match="is not to be set"):
            delattr(part, name)


def test_what_was_set_from_outside_is_refused():
    # Each of these gave a statement that named nobody: neighbours 6.3e5 and 103 times the declared
    # sensitivity apart.
    problem = problem_of()
    gradient = GradientSum(problem, np.zeros(5), 20)
    with pytest.raises(FrozenInstanceError, match="GradientSum.sensitivity is not to be set"):
        gradient.sensitivity = RowCount().sensitivity
    with pytest.raises(FrozenInstanceError, match="Logistic.lipschitz is not to be set"):
        problem.loss.lipschitz = 1e-6
    query = BoundedMinimizer(problem, 5.0)
    known = query.sensitivity(ADD)
    with pytest.raises(FrozenInstanceError, match="row_gradient is not to be set"):
        query.row_gradient, query.gap = 1e-9, 1e-12
    # What the sensitivity rests on is worked out when it is asked for: there is nothing to set.
    for name in ("row_gradient", "gap", "sensitivity", "rows", "held"):
        with pytest.raises(AttributeError):
            object.__setattr__(query, name, 1e-9)
    for name in ("lipschitz", "dvalue", "held"):
        with pytest.raises(AttributeError):
            object.__setattr__(problem.loss, name, 1e-6)
    assert query.sensitivity(ADD) == known


def test_arrays_of_a_query_stay_as_they_are():
    query = ClippedGradientSum(problem_of(), np.ones(5), 1.0)
    with pytest.raises(ValueError, match="WRITEABLE"):
        query.w.setflags(write=True)
    given = np.ones(3)
    kept = constant(given)
    given[:] = 2.0
    assert np.array_equal(kept, np.ones(3)) and constant([[1, 2]], np.int64).shape == (1, 2)


def test_parts_can_be_copied_and_sent():
    query = ClippedGradientSum(problem_of(), np.ones(5), 1.0)
    for other in (copy.deepcopy(query), pickle.loads(pickle.dumps(query))):
        assert canonical(other) == canonical(query)
        assert session().release(other, Gaussian(20.0)).shape == (5,)


@pytest.mark.parametrize("name", ["row_norm", "raw_norm_bound", "n_features", "n"])
def test_altered_facts_are_compared_with_the_sessions_own(name):
    problem = problem_of(REPLACE)
    opened = session(problem)
    object.__setattr__(problem, name, 10**9 if name == "n" else 1)
    refused_uncharged(opened, BoundedMinimizer(problem, 5.0), f"A query states {name}=")


@pytest.mark.parametrize(
    "make",
    [
        Minimizer,
        GramMatrix,
        lambda problem: BoundedMinimizer(problem, 5.0),
        lambda problem: PerturbedMinimizer(problem, 5.0, 2.0),
    ],
)
@pytest.mark.parametrize("change", [{"row_norm": 0.05}, {"loss": HuberSvm()}, {"n": 10**9}])
def test_facts_altered_for_a_moment_leave_no_trace(make, change):
    problem = problem_of(REPLACE)
    honest = make(problem).sensitivity(REPLACE)
    known = {name: getattr(problem, name) for name in change}
    for name, value in change.items():
        object.__setattr__(problem, name, value)
    query = make(problem)
    assert query.sensitivity(REPLACE) != honest or (make is GramMatrix and "row_norm" not in change)
    for name, value in known.items():
        object.__setattr__(problem, name, value)
    assert query.sensitivity(REPLACE) == honest


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (Logistic, "lipschitz", 1e-6),
        (Logistic, "dvalue", lambda self, z, y, out: None),
        (RowCount, "sensitivity", lambda self, relation: Sensitivity("l2", 1e-9, relation)),
        (BoundedMinimizer, "gap", 1e-12),
        (Gaussian, "event", lambda self, sensitivity: None),
        (NeighboringRelation, "rows_changed", 0),
        (Problem, "row_norm", 1e-6),
    ],
)
def test_a_class_that_was_altered_is_refused_uncharged(monkeypatch, cls, name, value):
    problem = problem_of()
    opened = session(problem)
    query = RowCount() if cls is RowCount else BoundedMinimizer(problem, 5.0)
    mechanism = Gaussian(20.0)
    monkeypatch.setattr(cls, name, value, raising=False)
    with pytest.raises((InvalidInputError, AttributeError, TypeError)):
        opened.release(query, mechanism)
    with pytest.raises(InvalidInputError, match=f"{cls.__name__} was altered: its {name!r}"):
        for part in (*parts_within(query), *parts_within(mechanism)):
            require_untouched(part)
    assert not opened.ledger and opened.accountant.spent == 0
    monkeypatch.undo()
    assert opened.release(query, mechanism).size


def test_the_base_of_somebody_elses_class_is_looked_at_too(monkeypatch):
    class Elsewhere(RowCount):
        pass

    monkeypatch.setattr(
        RowCount, "sensitivity", lambda self, relation: Sensitivity("l2", 1e-9, relation)
    )
    refused_uncharged(session(), Elsewhere(), "RowCount was altered: its 'sensitivity'")


def test_objects_of_ours_with_something_of_their_own_are_refused_before_anything():
    accountant = ZcdpAccountant.from_budget(50.0, 1e-6)
    object.__setattr__(accountant, "cost", lambda event: Fraction(0))
    with pytest.raises(InvalidInputError, match="was given a 'cost' of its own. Leave it as it"):
        session(accountant=accountant)
    engine = LocalEngine(ROWS.table())
    engine.held = math.exp
    with pytest.raises(InvalidInputError, match="was given a 'held' of its own"):
        session(engine=engine)
    accountant = ZcdpAccountant.from_budget(50.0, 1e-6)
    object.__setattr__(accountant, "fully_adaptive", 1)  # No function, in place of its class's.
    with pytest.raises(InvalidInputError, match="was given a 'fully_adaptive' of its own"):
        session(accountant=accountant)


def test_a_function_of_ours_made_a_query_is_refused(monkeypatch):
    query = RowCount()
    for name in ("start", "answer_block", "sensitivity"):
        monkeypatch.setattr(round_to, name, getattr(query, name), raising=False)
    monkeypatch.setattr(round_to, "kind", "count", raising=False)
    refused_uncharged(session(), round_to, "was given a 'start' of its own")


def test_a_class_under_the_name_of_ours_is_refused():
    honest = RowCount.sensitivity
    forged = type(
        "RowCount",
        (RowCount,),
        {
            "__module__": RowCount.__module__,
            "__qualname__": "RowCount",
            "sensitivity": lambda self, relation: replace(honest(self, relation), bound=1e-9),
        },
    )
    refused_uncharged(session(), forged(), "calls itself dpcore.queries.count:RowCount")


def test_somebody_elses_subclass_keeps_what_it_likes_and_is_named():
    class Elsewhere(RowCount):
        __slots__ = ("seen",)

    query = Elsewhere()
    query.seen = []
    with pytest.raises(FrozenInstanceError, match="Elsewhere.sensitivity is not to be set"):
        query.sensitivity = honest = RowCount().sensitivity
        assert honest
    opened = session()
    opened.release(query, Gaussian(20.0))
    assert any(part.endswith("Elsewhere") for part in opened.trusted_parts)


def test_a_partial_that_poses_as_a_loss_is_named():
    loss = partial(Logistic)
    honest = Logistic()
    for name in ("name", "classification", "convex", "smoothness", "value", "dvalue"):
        setattr(loss, name, getattr(honest, name))
    loss.lipschitz = 1e-6
    opened, problem = session(), replace(problem_of(), loss=loss)
    with pytest.raises(InvalidInputError, match="The loss partial has no 'name'"):
        BoundedMinimizer(problem, 5.0)  # Its class states no fact, and is not taken at its word.
    opened.release(ClippedGradientSum(problem, np.zeros(5), 1.0), Gaussian(20.0))
    assert "functools:partial" in opened.trusted_parts


class Slotted:
    """A plugin's query that keeps everything in slots, one of them private."""

    __slots__ = ("__inner", "loss", "never", "w")
    kind = "count"

    def __init__(self, w, loss):
        self.w, self.loss, self.__inner = w, loss, "within"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([block.n_rows], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


class Mine(Logistic):
    pass


def test_slots_are_read_a_plugins_too():
    query = Slotted(np.zeros(3), Mine())
    assert [name for name, _ in attributes(query)] == ["_Slotted__inner", "loss", "w"]
    opened = session()
    opened.release(query, Gaussian(20.0))
    assert {f"{__name__}:Slotted", f"{__name__}:Mine"} <= {*opened.trusted_parts}
    assert canonical(query) == canonical(Slotted(np.zeros(3), Mine()))
    assert canonical(query) != canonical(Slotted(np.full(3, -0.0), Mine()))


def test_the_canonical_form_leaves_nothing_out():
    long, other = np.zeros(2_000), np.zeros(2_000)
    other[1_000] = 300
    assert repr(long) == repr(other)
    different = [
        (long, other),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (["ab", "c"], ["a", "bc"]),
        (np.float64(1), 1.0),
        (Fraction(1, 3), Fraction(1, 4)),
        (Gaussian(1.0), Gaussian(1.0 + 2.0**-52)),
        (partial(round_to, bits=3), partial(round_to, bits=4)),
        (Sensitivity("l2", 1.0, ADD), Sensitivity("l2", 1.0, REPLACE)),
    ]
    for one, two in different:
        assert canonical(one) != canonical(two)
        assert canonical(one) == canonical(copy.deepcopy(one))
    assert canonical({3, 1, 2}) == canonical({1, 2, 3})
    assert canonical(njit(round_to)) == canonical(njit(round_to))
    knot = []
    knot.append(knot)
    assert canonical(knot) == canonical(copy.deepcopy(knot))


class LyingFloat(np.float64):
    """Equals whatever it is compared with, under the name of a module that is trusted."""

    __module__ = "numpy"
    __hash__ = np.float64.__hash__

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


def test_a_number_that_lies_is_no_fact():
    problem = problem_of()
    assert type(replace(problem, row_norm=LyingFloat(1e-6)).row_norm) is float
    opened = session(problem)
    query = BoundedMinimizer(replace(problem, row_norm=LyingFloat(1e-6)), 50.0)
    refused_uncharged(opened, query, "A query states row_norm=1e-06")
    with pytest.raises(InvalidInputError, match="finite float > 0"):
        Gaussian(LyingFloat(20.0))
    lying = LyingFloat(1.0)
    assert lying in list(parts_within(partial(njit, lying)))


def test_nothing_is_refunded():
    opened = session(accountant=ZcdpAccountant.from_budget(1.0, 1e-6))
    given = opened.accountant
    for _ in range(3):
        opened.release(RowCount(), Gaussian(40.0))
        object.__setattr__(opened.accountant, "spent_ticks", 0)
        object.__setattr__(opened.ledger[-1], "cost", 0.0)
    object.__setattr__(given, "budget_ticks", 10**60)
    assert opened.accountant.spent == pytest.approx(3 / (2 * 40.0**2))
    assert [entry.cost > 0 for entry in opened.ledger] == [True] * 3
    with pytest.raises(BudgetExceededError):
        opened.release(RowCount(), Gaussian(1.0))


def test_what_is_charged_is_what_answers_and_draws():
    """A part that is altered after its cost was taken is not the one that is asked: a thread did
    so while the engine was summing, and 50 times the noise was charged than was drawn."""
    mechanism, query = Gaussian(40.0), ClippedGradientSum(problem_of(), np.zeros(5), 0.5)

    class Alters(LocalEngine):
        def answer(self, asked):
            object.__setattr__(mechanism, "noise_multiplier", 1e-9)
            object.__setattr__(query, "clip", 1e6)
            self.asked = asked
            return super().answer(asked)

    engine = Alters(ROWS.table())
    noisy = session(engine=engine).release(query, mechanism)
    quiet = session().release(ClippedGradientSum(problem_of(), np.zeros(5), 0.5), Gaussian(40.0))
    assert np.array_equal(noisy, quiet) and engine.asked is not query


def test_a_class_or_function_placed_in_a_module_of_ours_is_refused(monkeypatch):
    class Planted:
        kind, thread_safe = "count", True
        sensitivity = RowCount().sensitivity
        loss = None

    Planted.__module__, Planted.__qualname__ = "dpcore.queries.count", "Planted"
    monkeypatch.setattr(dpcore.queries.count, "Planted", Planted, raising=False)
    refused_uncharged(session(), Planted(), "count:Planted is not dpcore's own")

    def helper():
        return None

    helper.__module__, helper.__qualname__ = "dpcore.queries.count", "helper"
    Planted.__module__ = __name__
    planted = Planted()
    planted.loss = helper
    refused_uncharged(session(), planted, "count:helper is not dpcore's own")


def test_what_is_stated_is_not_the_optimizers_to_alter():
    class Alters:
        def minimize(self, problem, session):
            object.__setattr__(problem, "n0", 123_456)
            return Solution(np.zeros(5), "Done.")

    problem = problem_of(n0=7)
    run_optimizer(Alters(), None, problem, None)
    assert problem.n0 == 7


def test_a_private_copy_shares_no_part_with_the_original():
    problem = problem_of(relation=REPLACE)
    ball = PublicBall.of(problem)
    objective = ObjectiveSum(problem, np.zeros(5), ball)
    mechanism = NoiseReduction(
        RowCount("l1"), (0.01,), 0.5, 1.0, Sensitivity("linf", 2.0, REPLACE, grid_bits=20)
    )
    for part in (objective, PoissonSample(objective, 0.5), mechanism, problem):
        held = {id(p) for p in parts_within(part)}
        copied = private_copy(part)
        assert canonical(copied) == canonical(part)
        shared = [p for p in parts_within(copied) if id(p) in held]
        assert all(isinstance(p, (type, Enum)) for p in shared), shared


def test_what_a_part_holds_cannot_be_altered_after_the_charge_either():
    inner = ClippedGradientSum(problem_of(), np.zeros(5), 2.0**-8)
    sample = PoissonSample(inner, 1.0)

    class Alters(LocalEngine):
        def answer(self, asked):
            object.__setattr__(inner, "clip", 1.0)
            return super().answer(asked)

    budget = RdpAccountant.from_budget(50.0, 1e-6)
    noisy = session(accountant=budget, engine=Alters(ROWS.table())).release(sample, Gaussian(8.0))
    inner = ClippedGradientSum(problem_of(), np.zeros(5), 2.0**-8)
    quiet = session(accountant=budget).release(PoissonSample(inner, 1.0), Gaussian(8.0))
    assert np.array_equal(noisy, quiet)


def test_an_open_mechanism_keeps_to_what_it_was_started_for():
    line = ClippedLossLine(problem_of(), np.zeros(5), np.zeros(5), np.zeros(1), 1.0)
    large = line.sensitivity(ADD)
    small = Sensitivity("linf", 2.0**-20, ADD, grid_bits=large.grid_bits)
    opened = session(accountant=PureAccountant.from_budget(5.0, 0.0))
    exchange = opened.start(NoiseReduction(RowCount("l1"), (0.01,), 0.5, 1.0, small))
    object.__setattr__(small, "bound", 2.0**11)
    with pytest.raises(InvalidInputError, match="the mechanism was started for"):
        exchange.ask(line)


def test_a_class_under_the_name_of_another_module_cannot_be_sealed():
    planted = type("Planted", (), {"__module__": "dpcore.queries.count"})
    with pytest.raises(TypeError, match="sealed elsewhere than in its module dpcore.queries.count"):
        sealed(planted)
