"""Whatever acts on exact answers is named, and states the run's public facts."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.data.standardization import Standardization
from dpcore.engines.local import LocalEngine
from dpcore.errors import InvalidInputError
from dpcore.losses.logistic import Logistic
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.mechanisms.laplace import Laplace
from dpcore.noise.source import SeededNoise
from dpcore.queries import (
    BoundedMinimizer,
    Excess,
    Minimizer,
    MinimumObjective,
    PoissonSample,
    RowCount,
    StandardizedGradientSum,
)
from dpcore.sensitivity import NeighboringRelation, Sensitivity
from dpcore.session import PrivacySession
from dpcore.testing.tables import make_problem, make_rows
from dpcore.trusted import parts_within

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
ROWS = make_rows(64)
HERE = __name__


def session(relation=ADD, problem=None):
    accountant = ZcdpAccountant.from_budget(50.0, 1e-6)
    engine = LocalEngine(ROWS.table())
    return PrivacySession(engine, accountant, relation, SeededNoise(1), problem=problem)


def foreign(opened):
    return {part for part in opened.trusted_parts if not part.startswith("dpcore.")}


class Peek:
    """Claims next to nothing and answers with a row's value: what nobody may do unnamed."""

    kind = "objective"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return (block.rows()[:1, 0] * 2.0**20).astype(np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l1", 2.0**-20, relation, grid_bits=30)


def test_a_question_within_a_question_is_named():
    problem = make_problem(ROWS, REPLACE, Logistic(), l2=0.1)
    minimizer = Minimizer(problem)
    reference = MinimumObjective(minimizer)
    peek = Peek()
    peek.sensitivity = partial(Sensitivity, "l1", 2.0**-20, grid_bits=minimizer_bits(reference))
    opened = session(REPLACE)
    opened.release(Excess(peek, reference, minimizer), Laplace(5.0))
    assert f"{HERE}:Peek" in foreign(opened)


def minimizer_bits(reference):
    return reference.sensitivity(REPLACE).grid_bits


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


def test_parts_of_the_standard_library_and_numpy_are_looked_through():
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
