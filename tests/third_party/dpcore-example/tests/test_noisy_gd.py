"""The admission test, as any plugin's own suite runs it."""

from dpcore.testing import parametrize_with_checks
from dpcore_example.noisy_gd import NoisyGd


@parametrize_with_checks([NoisyGd()])
def test_noisy_gd(optimizer, check):
    check(optimizer)
