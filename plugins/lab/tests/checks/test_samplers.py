"""Samplers draw the rows that their events state; samplers with a fault do not."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import pytest

from dpcore.plugin import ClippedGradientSum
from dpcore.plugin.parts import PoissonSampledDpEvent, SampledWithoutReplacementDpEvent
from dpcore_a_ddp.fixed_size_sample import FixedSizeSample
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import check_sampler


def total(problem):
    return ClippedGradientSum(problem, np.ones(problem.n_features), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda problem: PoissonSample(total(problem), 0.1),
        lambda problem: PoissonSample(total(problem), 1e-4),
        lambda problem: PoissonSample(total(problem), 1.0),
        lambda problem: FixedSizeSample(total(problem), 20, 200),
        lambda problem: FixedSizeSample(total(problem), 2, 2),
    ],
)
def test_built_in_samplers_pass(make):
    tested = check_sampler(make)
    assert "ties of three rows or more" in tested.not_tested


def test_the_power_follows_from_the_number_of_draws():
    assert "1.04 times" in check_sampler(lambda p: PoissonSample(total(p), 0.1)).power
    assert "2.5 times" in check_sampler(lambda p: PoissonSample(total(p), 1e-4)).power


@dataclass(frozen=True, eq=False)
class Sampler:
    """A sample that each row joins with probability .1, by a distribution of a subclass's own."""

    query: object
    kind = "sampled"
    stated = 0.1

    def sensitivity(self, relation):
        return self.query.sensitivity(relation)

    def sampled_event(self, event, relation):
        return PoissonSampledDpEvent(self.stated, event, relation)

    def coins(self, table, noise):
        return noise.coins(table.n_rows, 2**64 // 10)

    def answer_table(self, table, noise):
        (block,) = table.blocks
        coins = self.coins(block, noise)
        return self.query.start() + self.query.answer_block(block.take(np.flatnonzero(coins)))


class StatesATenth(Sampler):
    """The true epsilon of a Gaussian release of noise multiplier 1 is ten times its claim."""

    stated = 0.01


class LooksAtTheRow(Sampler):
    """Rows with a label of 1 join twice as often as others: less often, all of them, than stated.
    Honest under add-or-remove-one; under replace-one only for events that cover a row's removal."""

    def coins(self, block, noise):
        often, usual = noise.coins(block.n_rows, 2**60), noise.coins(block.n_rows, 2**59)
        return np.where(block.y > 0, often, usual)


class OftenerByTheRow(Sampler):
    """The same, and they join oftener than stated."""

    def coins(self, block, noise):
        often, usual = noise.coins(block.n_rows, 2**61), noise.coins(block.n_rows, 2**57)
        return np.where(block.y > 0, often, usual)


class LooksAtOtherRows(Sampler):
    """Labels of 1 decide how often all rows join."""

    def coins(self, block, noise):
        return noise.coins(block.n_rows, 2**60 if (block.y > 0).sum() % 2 else 2**59)


class TakesRareLabels(Sampler):
    """All rows of a label that less than one row in fifty has."""

    def coins(self, block, noise):
        _, where, counts = np.unique(block.y, return_inverse=True, return_counts=True)
        return super().coins(block, noise) | (counts < block.n_rows / 50)[where]


class OneCoinForTwo(Sampler):
    def coins(self, block, noise):
        return np.repeat(super().coins(block, noise), 2)[: block.n_rows]


class TheSameSampleAgain(Sampler):
    """Every third sample is the one before."""

    kept = WeakKeyDictionary()

    def coins(self, block, noise):
        count, before = self.kept.get(noise, (1, None))
        drawn = before if count % 3 == 0 else super().coins(block, noise)
        self.kept[noise] = count + 1, drawn
        return drawn


class OneRowOfMany(Sampler):
    """The first row joins every sample."""

    def coins(self, block, noise):
        drawn = super().coins(block, noise)
        drawn[0] = True
        return drawn


class AlwaysAsMany(Sampler):
    """A sixteenth of the rows, charged for as a Poisson sample: its size tells nothing."""

    stated = 1 / 16

    def coins(self, block, noise):
        drawn = np.zeros(block.n_rows, bool)
        drawn[noise.subset(block.n_rows, block.n_rows // 16)] = True
        return drawn


class Shuffled(AlwaysAsMany):
    """The batches of a shuffled table in their order, charged for as Poisson samples."""

    kept = WeakKeyDictionary()

    def coins(self, block, noise):
        left = self.kept.get(noise) or list(np.split(noise.permutation(block.n_rows), 16))
        drawn = np.zeros(block.n_rows, bool)
        drawn[left.pop()] = True
        self.kept[noise] = left
        return drawn


class ShuffledWithoutReplacement(Shuffled):
    """The same, charged for as samples without replacement that are drawn afresh."""

    def sampled_event(self, event, relation):
        return SampledWithoutReplacementDpEvent(256, 16, event, relation)


class OneOfEachTwo(Sampler):
    """Of two rows side by side one joins, or none."""

    stated = 0.5

    def coins(self, block, noise):
        first = noise.coins(block.n_rows // 2, 2**63)
        return np.column_stack((first, ~first)).ravel()


class LeavesOutTheLast(Sampler):
    """At most 60 rows, the first that join: about as usual over 256 rows, and never over 1,024."""

    def coins(self, block, noise):
        drawn = super().coins(block, noise)
        drawn[np.cumsum(drawn) > 60] = False
        return drawn


class CoinsOfRows(Sampler):
    """Says that units join as a whole, and has a coin for each row."""

    draws_units = True


class CoinsOfUnits(Sampler):
    """Rows are units where they have none."""

    draws_units = True

    def coins(self, block, noise):
        if block.units is None:
            return super().coins(block, noise)
        joined = noise.coins(int(block.units.max(initial=-1)) + 1, 2**64 // 10)
        return joined[block.units]


class CountsTwice(Sampler):
    def answer_table(self, table, noise):
        return 2 * super().answer_table(table, noise)


def test_the_honest_twin_passes():
    check_sampler(lambda problem: Sampler(total(problem)))


def test_units_are_looked_at_where_a_sampler_draws_them():
    assert "and units, each as a whole" in check_sampler(CoinsOfUnits(None)).what


@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("sampler", "reason"),
    [
        (StatesATenth, "rows are drawn more often than the stated"),
        (LooksAtTheRow, "other rows are drawn where the rows hold something else"),
        (OftenerByTheRow, "other rows are drawn where the rows hold something else"),
        (LooksAtOtherRows, "other rows are drawn where the rows hold something else"),
        (TakesRareLabels, "other rows are drawn where the rows hold something else"),
        (OneCoinForTwo, "two rows are drawn together too often"),
        (TheSameSampleAgain, "not drawn afresh"),
        (OneRowOfMany, "drawn more often than the stated"),
        (AlwaysAsMany, "a Poisson sample's would be about"),
        (Shuffled, "two samples have in common is not as in independent draws"),
        (ShuffledWithoutReplacement, "two samples have in common is not as in independent draws"),
        (OneOfEachTwo, "two rows are drawn together is not as in independent draws"),
        (LeavesOutTheLast, "a Poisson sample's would be about|not as in independent draws"),
        (CoinsOfRows, "draws some rows of a unit without the others"),
        (CountsTwice, "in one sample more than once"),
    ],
)
def test_a_broken_sampler_is_caught(sampler, reason):
    with pytest.raises(AssertionError, match=reason):
        check_sampler(lambda problem: sampler(total(problem)))
    with pytest.raises(AssertionError, match=reason):
        check_sampler(sampler(None))
