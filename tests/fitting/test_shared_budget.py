"""A budget that other releases or fits share: its accountant, and who named it."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import fit
from dpcore.accountants.registered import target_of
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin.parts import load_registry
from dpcore_accounting.rdp import RdpAccountant
from dpcore_tuning.search import make_search

PldAccountant = load_registry().load("accountant", "pld")

rng = np.random.default_rng(0)
X = rng.random((300, 2))
Y = np.where(X[:, 0] > X[:, 1], 1, 0)
THREE = {"y": np.array(["a", "b", "c"])[(3 * X[:, 0]).astype(int)], "classes": ("a", "b", "c")}
SHARED = {
    "private bounds": {"bounds": None, "private_bounds": True},
    "balanced": {"class_weight": "balanced"},
    "evaluation": {"evaluate_share": 0.2, "test_fraction": 0.5},
    "intervals": {"intervals_share": 0.4, "epsilon": 50.0},
    "both": {"intervals_share": 0.3, "evaluate_share": 0.2, "test_fraction": 0.5, "epsilon": 90.0},
    "ovr": {"multiclass": "ovr", **THREE},
}


def fitted(**options):
    values = {"y": Y, "classes": (0, 1), "bounds": (0, 1), "row_norm": None, "n0": 300}
    values |= {"algo": "sgd-ma", "params": {"steps": 5}, "epsilon": 2.0, "delta": 1e-6}
    return fit(X, **{**values, **options})


# All of these were refused, or cost basic composition, when sgd-ma came under pld.
@pytest.mark.parametrize("how", SHARED)
def test_a_run_that_shares_its_budget_is_under_the_filter_for_that(how):
    privacy = fitted(**SHARED[how]).privacy
    assert privacy["accountant"] == "rdp" and privacy["private"]
    assert privacy["spent"] <= privacy["budget"]


@pytest.mark.parametrize("how", SHARED)
def test_a_named_accountant_stays(how):
    if how == "ovr":  # Each fit has its part of epsilon and of delta.
        assert fitted(accountant="pld", **SHARED[how]).privacy["accountant"] == "pld"
        return
    with pytest.raises(InvalidInputError, match="the pld accountant holds it to a fixed schedule"):
        fitted(accountant="pld", **SHARED[how])


def test_a_budget_of_one_fit_alone_has_the_usual_accountant():
    assert fitted().privacy["accountant"] == "pld"


def test_a_list_of_candidates_shares_a_filter():
    candidates = [{"momentum": 0.5}, {"momentum": 0.8}]
    search = make_search(Settings(algo="sgd-ma", epsilon=2.0), candidates, kind="list")
    assert [plan.accountant.name for plan in search.plans] == ["rdp", "rdp"]


def test_only_the_usual_accountant_is_replaced_and_the_trusted_parts_follow():
    plan = make_plan(Settings(algo="sgd-ma", epsilon=2.0))
    shared = plan.with_shared_accountant()
    pld, rdp = (target_of(each) for each in (plan.accountant, shared.accountant))
    assert (type(plan.accountant), type(shared.accountant)) == (PldAccountant, RdpAccountant)
    assert rdp[0] in shared.targets and pld[0] not in shared.targets
    assert shared.with_shared_accountant() is shared
    for settings in ({"accountant": "pld"}, {"conversion": "connect-the-dots"}):
        named = make_plan(replace(plan.settings, **settings))
        assert named.with_shared_accountant() is named
    adaptive = make_plan(Settings(algo="dp-gd"))
    assert adaptive.with_shared_accountant() is adaptive
