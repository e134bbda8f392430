"""Copies of a part at the ends of its parameters' ranges, and within."""

from dataclasses import dataclass

from dpcore.plugin import check_ranges, option
from dpcore.plugin.parts import Logistic
from dpcore_baselines.losses.quantile import Quantile
from dpcore_lab.checks import check_loss
from dpcore_lab.made_tables.variants import unranged, variants


@dataclass(frozen=True)
class Part:
    steps: int = option(3, "steps", range=(1, 40))
    rate: float = option(0.5, "rate", range=(0.0, 1.0, "()"))
    free: float = 1.0

    def __post_init__(self):
        check_ranges(self)


def test_both_ends_and_values_within_are_tried():
    found = list(variants(Part()))
    assert {1, 40} <= {part.steps for part in found}
    assert all(type(part.steps) is int and part.free == 1.0 for part in found)
    rates = [part.rate for part in found]
    assert 0 < min(rates) < 1e-8 and 1 - 1e-8 < max(rates) < 1 and len(set(rates)) >= 6
    assert unranged(Part()) == ["free"]


def test_a_part_without_parameters_has_no_variants():
    assert not list(variants(Logistic())) and not unranged(Logistic())


def test_the_check_of_a_loss_says_what_it_tried():
    assert "the bounds also with 16 other values" in check_loss(Quantile()).what
