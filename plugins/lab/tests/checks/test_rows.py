"""The checks of losses and queries catch what hides in large blocks and at the ends of a line."""

import dataclasses
import time

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic
from dpcore_accuracy_first.objectives.minimizer import Minimizer
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_lab.checks import check_loss, check_query
from dpcore_lab.made_tables.tables import make_problem, make_rows


class OtherOnFullBlocks(Logistic):
    """Broken on purpose: looks at the other rows, and only of a full block."""

    def value(self, z, y, out):
        super().value(z + (z.mean() if z.size == 8192 else 0.0), y, out)


class WritesMargins(Logistic):
    """Broken on purpose: the caller's margins are scratch space."""

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        np.multiply(z, y, out=z)


class WritesLabels(Logistic):
    """Broken on purpose: one label is changed, for good."""

    def value(self, z, y, out):
        super().value(z, y, out)
        y[0] = 0.0


class SharesScratch(Logistic):
    """Broken on purpose: says that calls may overlap, and keeps what they work on."""

    thread_safe = True

    def value(self, z, y, out):
        self._scratch = z * y
        time.sleep(0.001)  # long enough for another call to come between, on a busy machine too
        super().value(self._scratch, np.ones_like(y), out)


class Sigmoid:
    """Broken on purpose: bounded, smooth, Lipschitz, and not convex as it says."""

    name, classification, convex = "sigmoid", True, True
    lipschitz, smoothness = 0.25, 0.0963

    def value(self, z, y, out):
        out[:] = 1 / (1 + np.exp(np.clip(y * z, -700, 700)))

    def dvalue(self, z, y, out):
        self.value(z, y, out)
        np.multiply(-y, out * (1 - out), out=out)


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (Sigmoid(), "the loss is not convex"),
        pytest.param(SharesScratch(), "other bits where calls overlap", marks=pytest.mark.slow),
        (OtherOnFullBlocks(), "depends on the other rows"),
        (WritesMargins(), "writes on the margins or labels"),
        (WritesLabels(), "writes on the margins or labels"),
    ],
)
def test_a_broken_loss_is_caught(loss, reason):
    with pytest.raises(AssertionError, match=reason):
        check_loss(loss)


class HalfRange(ClippedLossLine):
    """Broken on purpose: the range of one row's change, under replace-one too."""

    def sensitivity(self, relation):
        return dataclasses.replace(super().sensitivity(relation), change_range=self.loss_clip)


def half_range(loss_clip, first, last, w=0.5, direction=None):
    steps = np.linspace(first, last, 21)
    direction = np.eye(5)[0] if direction is None else direction
    return lambda p: HalfRange(p, np.full(5, w), direction, steps, loss_clip)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss_clip", "first", "last"),
    # The settings in which the range of two rows' exchange exceeds the half, found by a search.
    [(0.5, 0, 1), (0.5, 0, 20), (1.0, 0, 1), (2.0, 0, 4), (0.1, -30, 30), (1.0, -4, 4)],
)
def test_half_a_range_is_caught_on_any_line(loss_clip, first, last):
    with pytest.raises(AssertionError, match="HalfRange under replace-one: scores moved apart"):
        check_query(half_range(loss_clip, first, last))


def test_half_a_range_is_caught_along_any_direction():
    direction = np.array([0.1, -0.7, 0.3, 0.6, -0.2])
    with pytest.raises(AssertionError, match="scores moved apart"):
        check_query(half_range(1.0, -2, 2, direction=direction))


@pytest.mark.slow
def test_half_a_range_that_no_pair_of_usual_rows_exceeds_is_caught_with_longer_ones():
    # On this line every usual row's loss is cut off at the first step, so all move by one clip.
    with pytest.raises(AssertionError, match="scores moved apart .*row_norm=4"):
        check_query(half_range(0.1, 0, 1))


def test_a_loss_that_does_not_say_it_is_convex_has_no_exact_minimiser():
    class Silent(Sigmoid):
        convex = False

    check_loss(Silent())
    with pytest.raises(InvalidInputError, match="No public ball is known"):
        Minimizer(make_problem(make_rows(20), NeighboringRelation.REPLACE_ONE, Silent(), l2=0.1))
