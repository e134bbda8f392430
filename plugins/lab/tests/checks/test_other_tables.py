"""A query's sensitivity holds for other public facts than those of the usual made tables."""

import numpy as np
import pytest
from leaks import fixed_facts

from dpcore.losses.logistic import Softmax
from dpcore.plugin import ClippedGradientSum
from dpcore.plugin.parts import Logistic
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_baselines.losses.quantile import Quantile
from dpcore_lab.checks import check_loss, check_query
from dpcore_lab.made_tables.other_tables import Steeper, SteeperClasses


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (fixed_facts.ForgetsLipschitz, "declared l2"),
        (fixed_facts.SquaredNorm, "declared l2.*row_norm=0.25"),
        (fixed_facts.LiteralNorm, "declared l2.*row_norm=4"),
        (fixed_facts.RootOfFive, "declared l1.*17 features"),
        (fixed_facts.CountsSmallLabels, "declared l2.*Quantile"),
        (fixed_facts.SpecialHalf, "under replace-special: .* declared l2"),
        (fixed_facts.SparseTwice, "declared l2.*CSR rows"),
    ],
)
def test_a_bound_of_usual_facts_alone_is_found(kind, reason):
    with pytest.raises(AssertionError, match=reason):
        check_query(kind)


@pytest.mark.slow
@pytest.mark.parametrize("make", [fixed_facts.SignedSum, lambda p: GramMatrix(p, l1_norm=1.0)])
def test_a_query_of_any_facts_passes_with_all_of_them(make):
    assert "rows of 18 tables with other public facts" in check_query(make).what


@pytest.mark.slow
def test_a_query_of_five_features_is_asked_for_five():
    tested = check_query(lambda p: ClippedGradientSum(p, np.ones(5), 0.5), Logistic())
    assert "rows of 8 tables" in tested.what
    left = " ".join(tested.not_tested)
    assert (
        "tables that it does not take: 1 features" in left and "other losses than logistic" in left
    )


@pytest.mark.parametrize("loss", [Logistic(), Quantile(tau=0.25, half_width=0.5)])
def test_the_steeper_losses_are_losses(loss):
    check_loss(Steeper(loss))


def test_the_steeper_loss_of_several_classes_is_one():
    check_loss(SteeperClasses(Softmax()))
