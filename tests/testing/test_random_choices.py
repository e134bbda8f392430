"""Random choices of a query are the same in a replay, and may not depend on the rows."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from dpcore.mechanisms.gaussian import Gaussian
from dpcore.problem import Solution
from dpcore.sensitivity import Sensitivity
from dpcore.testing import check_outputs_released, check_sensitivity_on_neighbours


class FirstOfAnOrder:
    """Half the label of a row that is drawn: by replacing it, the answer moves by 1."""

    kind = "model"

    def __init__(self, bound=1.0, peeks=False):
        self.bound, self.peeks = bound, peeks

    def answer_table(self, table, noise):
        y = np.concatenate([block.y for block in table.blocks])
        order = noise.permutation(table.n_rows)
        if self.peeks:
            noise.permutation(int((y > 0).sum()))
        return (512 * y[order[:50]]).sum(keepdims=True).astype(np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", self.bound, relation, grid_bits=10)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OneLabel:
    bound: float = 1.0
    peeks: bool = False

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("replace-one",)
    needs: ClassVar[tuple] = ()

    def minimize(self, problem, session):
        value = session.release(FirstOfAnOrder(self.bound, self.peeks), Gaussian(50.0))
        return Solution(np.full(problem.n_features, value[0]), "Done.")


def test_a_secret_order_is_replayed():
    # Another order in the replay would move the sum by several labels.
    check_outputs_released(OneLabel())
    check_sensitivity_on_neighbours(OneLabel())


def test_too_small_a_sensitivity_is_caught_under_the_same_order():
    with pytest.raises(AssertionError, match="moved by more"):
        check_sensitivity_on_neighbours(OneLabel(bound=0.5))


def test_draws_that_depend_on_rows_are_caught():
    with pytest.raises(AssertionError, match="random words"):
        check_outputs_released(OneLabel(peeks=True))
