"""Random choices of a query are the same in a replay, and may not depend on the rows."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from dpcore.plugin import Gaussian, Solution
from dpcore.plugin.parts import GaussianDpEvent, RandomizedSensitivityGaussian, Sensitivity
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_lab.checks import check_outputs_released, check_sensitivity_on_neighbours
from dpcore_lab.outcomes.frequencies import largest_probability
from dpcore_lab.recount.ledger import recounted_epsilon
from dpcore_lab.replay.recorded import accountant_of


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


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_one_release_is_counted_again_by_its_curve(epsilon):
    accountant = SingleReleaseAccountant.from_budget(epsilon, 1e-6)
    event = RandomizedSensitivityGaussian((1.0, 0.9, 0.2), (3, 2, 5), 60.0 / epsilon)
    spent = accountant.compose(event)
    for delta in (1e-9, 1e-6):
        assert recounted_epsilon([event], delta) == pytest.approx(
            spent.get_epsilon(delta), rel=1e-4
        )
    # Of several releases there is the Renyi count only, and it is above.
    assert recounted_epsilon([event, event], 1e-6) > recounted_epsilon([event], 1e-6)


def test_the_audit_allows_what_the_farthest_distance_does():
    mixed = RandomizedSensitivityGaussian((2.0, 0.1), (1, 999), 4.0)
    for p in (1e-4, 0.3, 0.99):
        assert largest_probability(mixed, p) == largest_probability(GaussianDpEvent(2.0), p)


def test_an_optimizer_runs_with_the_accountant_that_it_names():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Named(OneLabel):
        accountant: ClassVar[str] = "single"

    assert accountant_of(OneLabel(), 1.0, 1e-6).name == "zcdp"
    assert accountant_of(Named(), 1.0, 1e-6).name == "single"
