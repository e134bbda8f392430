"""What all six algorithms state of a run."""

import pytest

from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.memory import memory_of, require_memory
from dpcore.plugin import NeighboringRelation, Problem, Settings
from dpcore.plugin.commands import make_plan


def run(algo, loss):
    plan = make_plan(Settings(algo=algo, loss=loss, targets={"target_excess_risk": 1.0}))
    relation = NeighboringRelation.REPLACE_ONE
    return plan.optimizer, Problem(plan.loss, 0.1, 10**6, 1.0, 1.0, relation=relation, n=100)


@pytest.mark.parametrize("algo", ["cov-nr", "cov-doubling", "cov-theory"])
def test_products_of_many_columns_are_refused_beforehand(algo):
    with pytest.raises(InvalidInputError, match="about 128,000 GB of memory"):
        require_memory(*run(algo, "ridge"))


@pytest.mark.parametrize("algo", ["output-nr", "output-doubling", "output-theory"])
def test_the_others_take_little_memory(algo):
    assert memory_of(*run(algo, "logistic")) == 512 * 10**6
