"""Every optimizer of the plugin passes the checks of any plugin."""

from dpcore.testing import parametrize_with_checks
from dpcore_rsgd_ar.bolt_on import BoltOn
from dpcore_rsgd_ar.nsgd import Nsgd
from dpcore_rsgd_ar.outpert_gd import OutpertGd
from dpcore_rsgd_ar.psgd import Psgd
from dpcore_rsgd_ar.rsgd_ar import RsgdAr


@parametrize_with_checks([RsgdAr(), Psgd(), Nsgd(), OutpertGd(), BoltOn()])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)


@parametrize_with_checks([RsgdAr(epochs=6, tau=3, batch_size=7, step_size=0.5)])
def test_a_small_last_batch_is_admitted(optimizer, check):
    if check.__name__ != "check_huge_epsilon_limit":
        check(optimizer)
