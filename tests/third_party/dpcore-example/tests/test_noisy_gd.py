"""The admission test, as any plugin's own suite runs it."""

from dpcore_example.noisy_gd import NoisyGd
from dpcore_lab.checks import parametrize_with_checks


@parametrize_with_checks([NoisyGd()])
def test_noisy_gd(optimizer, check):
    check(optimizer)
