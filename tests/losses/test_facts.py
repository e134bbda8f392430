"""What a loss states: checked by its values, refused where misspelt, and the same for all."""

import math

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic, LossFacts
from dpcore_accuracy_first.objectives.public_ball import PublicBall
from dpcore_baselines.queries.gradient_sum import gradient_error
from dpcore_lab.checks import check_loss, make_rows
from dpcore_lab.made_tables.tables import make_problem

REPLACE = NeighboringRelation.REPLACE_ONE


class Mine:
    """Logistic loss as somebody else writes it, with the facts of ours."""

    name, classification, thread_safe = "mine", True, True
    lipschitz, smoothness, radial_slope = 1.0, 0.25, Logistic.radial_slope
    convex = nonincreasing = True

    def value(self, z, y, out):
        Logistic().value(z, y, out)

    def dvalue(self, z, y, out):
        Logistic().dvalue(z, y, out)

    def precise_dvalue(self, z, y, out):
        Logistic().precise_dvalue(z, y, out)


def test_a_loss_of_others_is_treated_as_the_cores_own():
    check_loss(Mine())
    rows = make_rows(20)
    mine, ours = (make_problem(rows, REPLACE, loss, l2=0.1) for loss in (Mine(), Logistic()))
    assert PublicBall.of(mine) == PublicBall.of(ours)
    assert gradient_error(mine, 20, 3.0, True) == gradient_error(ours, 20, 3.0, True)


def test_a_subclass_states_its_own_facts():
    class Other(Logistic):
        pass

    facts = LossFacts.of(Other())
    assert facts.lipschitz == 1.0 and facts.classification
    for name in ("convex", "nonincreasing", "quadratic", "thread_safe"):
        assert getattr(facts, name) is False, name
    assert facts.radial_slope is facts.line_totals is facts.precise_dvalue is None


@pytest.mark.parametrize("loss", [Logistic(), Squared()])
def test_what_ours_state_is_what_they_are(loss):
    facts = LossFacts.of(loss)
    assert facts.convex and facts.thread_safe
    assert facts.nonincreasing is facts.classification is not facts.quadratic


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({"falls": True}, None),
        ({"convexx": True}, "states 'convexx', which nobody reads. Did you mean 'convex'"),
        ({"lipshitz": 1.0, "lipschitz": None}, "has lipschitz=None, which is not a number > 0"),
        ({"quadratik": True}, "Did you mean 'quadratic'"),
        ({"convex": "yes"}, "has convex='yes', which is not True or False"),
        ({"smoothness": math.nan}, "has smoothness=nan, which is not a number > 0"),
        ({"radial_slope": -1.0}, "has radial_slope=-1.0, which is not a number >= 0"),
        ({"convex": property(lambda self: 1)}, "has convex=1, which is not True or False"),
        ({"precise_dvalue": lambda self, z: None}, "has a precise_dvalue that cannot be called as"),
    ],
)
def test_a_fact_that_is_none_is_refused_with_the_name_meant(stated, reason):
    loss = type("Odd", (Mine,), {"convex": True, **stated})()
    if "convexx" in stated:
        loss = type("Odd", (), {k: v for k, v in vars(Mine).items() if k != "convex"} | stated)()
    if reason is None:
        LossFacts.of(loss)
        return
    with pytest.raises(InvalidInputError, match=f"The loss Odd .*{reason}"):
        LossFacts.of(loss)


def test_a_loss_without_its_constants_is_refused():
    class Bare:
        name, classification = "bare", True

    with pytest.raises(InvalidInputError, match="The loss Bare has no 'lipschitz', which"):
        LossFacts.of(Bare())


class Rises(Mine):
    """Broken on purpose: it falls with y z, as it says, up to 3 only."""

    lipschitz, smoothness, nonincreasing = 2.0, 1.25, True

    def value(self, z, y, out):
        super().value(z, y, out)
        far = np.maximum(y * z - 3, 0.0)
        out += np.where(far < 1, 0.5 * far * far, far - 0.5)

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        out += y * np.clip(y * z - 3, 0.0, 1.0)


class PullsMore(Logistic):
    """Broken on purpose: the radial_slope of the other end of the inequality."""

    radial_slope = 0.2784645


class AlmostQuadratic(Squared):
    """Broken on purpose: (z - y)^2 / 2 where margins are small, linear beyond 30."""

    lipschitz, smoothness, quadratic = 31.0, 1.0, True

    def value(self, z, y, out):
        r = np.abs(z - y)
        out[:] = np.where(r < 30, 0.5 * r * r, 30 * r - 450)

    def dvalue(self, z, y, out):
        out[:] = np.clip(z - y, -30, 30)


class BendsFaster(Logistic):
    """Broken on purpose: half of the largest change of its curvature."""

    self_concordance = 0.5


class Imprecise(Logistic):
    """Broken on purpose: the slope in half precision."""

    def precise_dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        out[:] = out.astype(np.float16)


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (Rises(), "it is not nonincreasing"),
        (PullsMore(), "exceeds the declared radial_slope"),
        (AlmostQuadratic(), "declared quadratic"),
        (BendsFaster(), "declared self_concordance"),
        (Imprecise(), "precise_dvalue is not dvalue"),
    ],
)
def test_a_fact_that_does_not_hold_is_caught(loss, reason):
    with pytest.raises(AssertionError, match=reason):
        check_loss(loss)
