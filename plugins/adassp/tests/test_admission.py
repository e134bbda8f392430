"""Both optimizers pass the checks of any plugin."""

import pytest

from dpcore.testing import parametrize_with_checks
from dpcore_adassp.adassp import AdaSsp
from dpcore_adassp.gram_ridge import GramRidge


@pytest.mark.slow
@parametrize_with_checks([AdaSsp(), GramRidge()])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)
