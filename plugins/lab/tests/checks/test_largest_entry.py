"""A mechanism for the largest entry of a change: all coordinates of an answer may move by it."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from dpcore.plugin.parts import LaplaceDpEvent, float_down
from dpcore_accounting.distributions import AddedDeviates, ContinuousDistribution
from dpcore_lab.checks import check_mechanism
from dpcore_lab.outcomes.additive import ADDITIVE


@dataclass(frozen=True)
class OfOne(AddedDeviates):
    """Laplace noise, and normal noise on top, on a single number, where all norms are one."""

    name: ClassVar[str] = "of-one"
    needs: ClassVar[str] = "linf"
    scalar_only: ClassVar[bool] = True
    distribution: ClassVar[ContinuousDistribution] = ContinuousDistribution(
        (("laplace", 1.0), ("normal", 0.25))
    )

    @classmethod
    def nominal_event(cls, noise_multiplier):
        return LaplaceDpEvent(noise_multiplier)

    def event(self, sensitivity):
        return LaplaceDpEvent(float_down(self.exact_multiplier(sensitivity)))


class OfSeveral(OfOne):
    """Broken on purpose: charged as for one coordinate, however many move."""

    scalar_only: ClassVar[bool] = False


@pytest.mark.slow
def test_noise_for_the_largest_entry_is_charged_for_all_that_move(monkeypatch):
    # Little noise, in one coordinate and in four: its deviates are exact, and drawn one by one.
    some = (ADDITIVE[0], ADDITIVE[4])
    monkeypatch.setattr("dpcore_lab.checks.mechanisms.ADDITIVE", some)
    assert "coordinates 1 to 1" in str(check_mechanism(OfOne))
    with pytest.raises(AssertionError, match="two neighbours are further apart"):
        check_mechanism(OfSeveral)
