"""Whatever acts on exact answers is named, and states the run's public facts."""

import sys
from dataclasses import replace
from functools import partial, update_wrapper
from itertools import count
from types import FunctionType, MethodType, SimpleNamespace

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import ClippedGradientSum, Gaussian, Laplace, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    LocalEngine,
    Logistic,
    SeededNoise,
    Sensitivity,
    TableSession,
    float_up,
)
from dpcore.session.trust_boundary import TrustedParts, parts_within
from dpcore_accounting.samples import PoissonSample
from dpcore_accuracy_first.objectives.excess import Excess
from dpcore_accuracy_first.objectives.loss_sum import ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import Minimizer, MinimumObjective
from dpcore_accuracy_first.objectives.public_ball import PublicBall
from dpcore_accuracy_first.objectives.quadratic import MinimumQuadratic, QuadraticObjective
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_baselines.perturbation.bounded import BoundedMinimizer
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
ROWS = make_rows(64)
HERE = __name__


def session(relation=ADD, problem=None, **others):
    accountant = ZcdpAccountant.from_budget(50.0, 1e-6)
    engine = LocalEngine(ROWS.table())
    return TableSession(engine, accountant, relation, SeededNoise(1), problem=problem, **others)


def foreign(opened):
    return {part for part in opened.trusted_parts if not part.startswith("dpcore.")}


class Peek:
    """Claims next to nothing and answers with a row's value: what nobody may do unnamed."""

    kind = "objective"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([block.rows()[:1, 0].sum() * 2.0**20]).astype(np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l1", 2.0**-20, relation, grid_bits=30)


def test_only_numbers_of_known_classes_are_subtracted():
    problem = make_problem(ROWS, REPLACE, Logistic(), l2=0.1)
    minimizer = Minimizer(problem)
    reference = MinimumObjective(minimizer)
    # A vector's distance in l2, taken for a number's, was 54 times too small once.
    vector = ClippedGradientSum(problem, np.zeros(5), 1.0)
    for question, other in [(vector, reference), (Peek(), reference), (minimizer, reference)]:
        with pytest.raises(InvalidInputError, match="Expected ObjectiveSum, .* and not"):
            Excess(question, other, minimizer)
    with pytest.raises(InvalidInputError, match="Expected MinimumObjective, .* and not Minimizer"):
        Excess(ObjectiveSum(problem, np.zeros(5), minimizer.ball), minimizer, minimizer)


def noiseless(exact, sensitivity, noise):
    return exact.astype(float)


def odd_mechanisms():
    event = Gaussian(5.0).event

    class Named:
        release = staticmethod(noiseless)

        def __init__(self):
            self.event = event
            update_wrapper(self, make_rows)  # which makes it read as dpcore's

    class Text(str):
        __slots__ = ()

        def __format__(self, spec):
            return Gaussian.__module__

    class Spelt(Named):
        __init__ = object.__init__
        __module__ = Text(__name__)
        event = staticmethod(Gaussian(5.0).event)

    class Colon(Spelt):
        __module__ = f"{Gaussian.__module__}:Gaussian"

    asked = count()

    class Changing(type):
        @property
        def __module__(cls):
            return __name__ if next(asked) < 3 else Gaussian.__module__

    class Changes(Spelt, metaclass=Changing):
        """Is of this module three times, and of dpcore's from then on."""

    class Function(Spelt):
        """Passes for a function of dpcore's."""

        __slots__ = ()
        __class__ = property(lambda self: FunctionType)
        __hash__ = lambda self: hash(Gaussian)  # noqa: E731
        __eq__ = lambda self, other: True  # noqa: E731

        def __getattribute__(self, name):
            known = {"__module__": Gaussian.__module__, "__qualname__": "Gaussian"}
            return known.get(name) or object.__getattribute__(self, name)

    class Method(Spelt):
        """Passes for a bound method, of which its two sides are looked at."""

        __class__ = property(lambda self: MethodType)
        __self__, __func__ = 1.0, staticmethod(float_up)

    return [
        SimpleNamespace(event=event, release=noiseless),
        Named(),
        *(kind() for kind in (Spelt, Colon, Changes, Function, Method)),
    ]


KINDS = ["namespace", "wrapper", "text", "colon", "metaclass", "function", "method"]


@pytest.mark.parametrize("mechanism", odd_mechanisms(), ids=KINDS)
def test_what_is_released_is_named_whatever_its_type(mechanism):
    opened = session()
    opened.release(RowCount(), mechanism)
    assert opened.foreign_parts


@pytest.mark.parametrize("broken", ["endless", "no-number", "other-problem"])
def test_what_cannot_be_looked_at_is_refused_uncharged(broken):
    class Endless:
        def __getattr__(self, name):
            if name in ("loss", "query"):
                return Endless()
            raise AttributeError(name)

    class Elsewhere(RowCount):  # A class of somebody else's may keep what it likes.
        pass

    query = Elsewhere()
    if broken == "endless":
        query.loss = Endless()
    elif broken == "no-number":
        query.most_rows = lambda: 10
    else:
        query.problem = SimpleNamespace(row_norm=1e-3)
    opened = session()
    with pytest.raises(InvalidInputError, match="too many to name|most_rows=|own Problem"):
        opened.release(query, Gaussian(20.0))
    assert not opened.ledger


def test_facts_reach_the_queries_of_squared_loss():
    problem = make_problem(ROWS, REPLACE, Squared(), l2=0.1)
    ball = PublicBall.of(problem)
    for other in (replace(problem, n=2), replace(problem, row_norm=0.05)):
        opened = session(REPLACE, problem)
        with pytest.raises(InvalidInputError, match="A query states"):
            opened.release(GramMatrix(other), Laplace(5.0))
        with pytest.raises(InvalidInputError, match="A query states"):
            opened.release(
                QuadraticObjective(GramMatrix(problem), other, ball, np.ones(5)), Laplace(5.0)
            )
        assert not opened.ledger
    smaller = PublicBall.of(replace(problem, l2=1.0))
    with pytest.raises(InvalidInputError, match="ball of a minimum"):
        MinimumQuadratic(GramMatrix(problem), problem, smaller)


def test_what_a_derived_query_asks_for_is_named_and_its_promise_kept():
    class Asking:
        kind = "asked"

        def derive(self, ask, noise):
            inner = BoundedMinimizer(make_problem(ROWS, ADD, Logistic()), 5.0)
            return ask(Peek()) + ask(inner)[:1]

        def sensitivity(self, relation):
            return Sensitivity("l2", 1.0, relation, grid_bits=30)

    opened = session()
    opened.release(Asking(), Gaussian(5.0))
    assert f"{HERE}:Peek" in foreign(opened)
    assert opened.most_rows == 2**27


def test_what_a_query_holds_is_named():
    class Crooked(Standardization):
        pass

    class Larger(float):
        pass

    problem = make_problem(ROWS, ADD, Logistic())
    ones, nothing = np.full(5, 64), np.zeros(5, dtype=np.int64)
    opened = session()
    query = StandardizedGradientSum(problem, np.zeros(5), Crooked(ones, nothing, None), 1.0)
    opened.release(query, Gaussian(20.0))
    assert any(part.endswith("Crooked") for part in foreign(opened))
    assert type(PoissonSample(RowCount(), Larger(0.5)).sampling_probability) is float


@pytest.mark.parametrize(
    ("relation", "changes", "capacity", "most_rows"),
    [
        (ADD, {}, 2**20, None),
        (ADD, {"capacity": 2**30}, 2**30, None),
        (REPLACE, {}, None, None),
        (REPLACE, {"capacity": 10}, 10, None),  # A public number of rows that is larger.
    ],
)
def test_the_capacity_that_sums_rest_on_is_kept(relation, changes, capacity, most_rows):
    opened = session(relation)
    problem = replace(make_problem(ROWS, relation, Logistic()), **changes)
    opened.release(ClippedGradientSum(problem, np.zeros(5), 1.0), Gaussian(100.0))
    assert (opened.rows_that_fit, opened.most_rows) == (capacity, most_rows)


def test_the_guarantee_rests_on_a_capacity_above_what_errors_are_bounded_for():
    for capacity, known in [(2**20, None), (2**27, 2**27), (2**30, 2**30)]:
        opened = session()
        problem = replace(make_problem(ROWS, ADD, Logistic()), capacity=capacity)
        opened.release(BoundedMinimizer(problem, 5.0), Gaussian(100.0))
        assert (opened.rows_that_fit, opened.most_rows) == (known, known or 2**27)


@pytest.mark.parametrize("capacities", [(2**30, 2**27), (2**27, 2**30)])
def test_of_two_limits_the_smaller_one_is_promised(capacities):
    opened = session()
    for capacity in capacities:
        problem = replace(make_problem(ROWS, ADD, Logistic()), capacity=capacity)
        opened.release(BoundedMinimizer(problem, 5.0), Gaussian(100.0))
    assert (opened.rows_that_fit, opened.most_rows) == (2**27, 2**27)


def test_what_equals_a_type_of_data_is_no_data():
    class Equal(type):
        __hash__ = lambda cls: hash(float)  # noqa: E731
        __eq__ = lambda cls, other: other is float  # noqa: E731

    class Odd(metaclass=Equal):
        pass

    odd = Odd()
    assert list(parts_within((odd, 1.0))) == [odd]


def test_containers_are_looked_into():
    held = {
        "a": [Peek(), (np.ones(3), 1.5, "text")],
        "b": partial(test_what_a_query_holds_is_named),
    }
    found = list(parts_within(held))
    assert [type(part).__name__ for part in found if not callable(part)] == ["Peek"]
    assert test_what_a_query_holds_is_named in found
    knot = [Peek()]
    knot.append(knot)
    assert len(list(parts_within(knot))) == 1


@pytest.mark.parametrize(
    "changes",
    [{"row_norm": 1e-3}, {"raw_norm_bound": 4.0}, {"n": 10**9}, {"n_features": 4}],
)
def test_a_query_of_other_facts_than_the_runs_is_refused_uncharged(changes):
    problem = make_problem(ROWS, REPLACE, Logistic(), l2=0.1)
    opened = session(REPLACE, problem)
    query = BoundedMinimizer(replace(problem, **changes), 5.0)
    with pytest.raises(InvalidInputError, match=f"A query states {next(iter(changes))}="):
        opened.release(query, Gaussian(5.0))
    assert not opened.ledger and not foreign(opened)
    free = replace(problem, l2=0.2, n0=7, capacity=100)
    assert opened.release(BoundedMinimizer(free, 5.0), Gaussian(5.0)).shape == (5,)


@pytest.mark.parametrize("module", ["dpcore_lab.commands.plot", "dpcore_baselines.sgd_ma"])
def test_the_name_of_a_module_of_ours_that_is_not_loaded_cannot_be_borrowed(monkeypatch, module):
    # It was nobody's when it was released, and ours when the statement was written.
    monkeypatch.delitem(sys.modules, module, raising=False)
    borrowed = type("Borrowed", (Peek,), {"__module__": module})
    opened = session()
    with pytest.raises(InvalidInputError, match="Borrowed"):
        opened.release(borrowed(), Laplace(5.0))
    assert not opened.ledger


class OfOthers(Peek):
    """A third party's query, which takes the run's public facts."""

    def __init__(self, problem):
        self.problem = problem


def test_a_query_of_others_cannot_be_handed_other_facts():
    problem = make_problem(ROWS, ADD, Logistic())
    opened = session(problem=problem)
    with pytest.raises(InvalidInputError, match="A query states row_norm="):
        opened.release(OfOthers(replace(problem, row_norm=1e-3)), Laplace(5.0))
    assert not opened.ledger
    opened.release(OfOthers(problem), Laplace(5.0))
    assert f"{HERE}:OfOthers" in opened.foreign_parts


class Void(Peek):
    """A query whose claim is known not to hold."""

    private = False


class Held(Peek):
    """Holds another query."""

    def __init__(self, query):
        self.query = query


@pytest.mark.parametrize(("query", "told"), [(Peek(), ()), (Void(), ("Void",)),
                                             (Held(Void()), ("Void",))])  # fmt: skip
def test_a_part_that_is_not_private_is_told_once_it_is_released(query, told):
    opened = session()
    opened.dry_run(query)
    assert opened.parts_not_private == ()
    opened.release(query, Laplace(5.0))
    assert opened.parts_not_private == tuple(f"{HERE}:{name}" for name in told)


def test_a_part_is_named_once_it_is_in_a_dry_run():
    # A dry run hands it objects that all blocks of the table share: it may leave its own there.
    opened = session()
    opened.dry_run(Peek())
    assert opened.foreign_parts == (f"{HERE}:Peek",)


def test_a_later_session_of_a_run_names_the_parts_of_those_before_it():
    record = TrustedParts()
    first, second, other = session(earlier=record), session(earlier=record), session()
    first.release(Void(), Laplace(5.0))
    for opened in (first, second, record):
        told = opened.foreign if opened is record else opened.foreign_parts
        assert f"{HERE}:Void" in told
    assert second.parts_not_private == record.not_private == (f"{HERE}:Void",)
    assert other.parts_not_private == () and f"{HERE}:Void" not in other.foreign_parts
