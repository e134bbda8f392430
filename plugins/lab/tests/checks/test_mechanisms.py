"""Built-in mechanisms bear out the events they state; mechanisms with a fault do not."""

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from leaking_mechanisms import LEAKING, SHOWS_IN, ScalarLaplace
from scipy.special import ndtr, ndtri

from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, Geometric, Laplace
from dpcore.plugin.parts import (
    ComposedDpEvent,
    DpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    PureDpEvent,
    RenyiDpEvent,
    Sensitivity,
    ZcdpDpEvent,
    load_registry,
)
from dpcore_accounting.selections.exponential import Exponential
from dpcore_accounting.selections.permute_and_flip import PermuteAndFlip
from dpcore_lab.checks import check_mechanism
from dpcore_lab.checks.mechanisms import _check_refusals
from dpcore_lab.outcomes.additive import ADDITIVE
from dpcore_lab.outcomes.frequencies import FALSE_ALARM, assert_as_private_as, largest_probability
from dpcore_lab.outcomes.selections import SELECTIONS

ReportNoisyMax = load_registry().load("mechanism", "report-noisy-max")
BUILT_IN = (Gaussian, Laplace, Geometric, Exponential, PermuteAndFlip, ReportNoisyMax)


@pytest.fixture
def look_at(monkeypatch):
    """Lets the check look at some of its settings alone, by their numbers."""

    def looking(*numbers):
        for name, settings in (("ADDITIVE", ADDITIVE), ("SELECTIONS", SELECTIONS)):
            some = tuple(each for k, each in enumerate(settings) if k in numbers)
            monkeypatch.setattr(f"dpcore_lab.checks.mechanisms.{name}", some)

    return looking


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", BUILT_IN)
def test_built_in_mechanisms_pass(mechanism):
    power = check_mechanism(mechanism).power
    words = r"would have detected, with probability 0.99, (1\.\d\d?) times the claim"
    if mechanism.needs != "range":
        words += r"; and an exact answer in one release of \d,\d\d\d and repeated noise in one"
    found = re.match(words, power)
    assert found
    # The broken twin: noise that is so many times too small.
    if mechanism in (Laplace, Exponential):
        with pytest.raises(AssertionError, match="further apart"):
            check_mechanism(halved(mechanism, 1 / float(found[1])))


@pytest.mark.parametrize("mechanism", [Gaussian, ReportNoisyMax])
def test_built_in_mechanisms_pass_in_one_setting(mechanism, look_at):
    look_at(2)
    assert "times the claim" in check_mechanism(mechanism).power


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", LEAKING)
def test_a_mechanism_that_leaks_is_caught(mechanism, look_at):
    if mechanism in SHOWS_IN:
        look_at(SHOWS_IN[mechanism])
    with pytest.raises(AssertionError, match="further apart|too often|goes by the one before"):
        check_mechanism(mechanism)


@pytest.mark.slow
def test_a_mechanism_for_single_numbers_says_so_and_is_looked_at_with_those():
    tested = check_mechanism(ScalarLaplace)
    assert any("several coordinates" in words for words in tested.not_tested)

    class Unsaid(ScalarLaplace):
        scalar_only = False

        def release(self, exact, sensitivity, noise):
            if exact.size > 1:
                raise InvalidInputError("Expected a single number.")
            return super().release(exact, sensitivity, noise)

    with pytest.raises(AssertionError, match="states scalar_only = True"):
        check_mechanism(Unsaid)


@dataclass(frozen=True)
class OwnEvent(DpEvent):
    """An event that nobody else has heard of."""

    noise_multiplier: float


def test_of_an_event_that_the_checks_do_not_know_nothing_is_claimed():
    class Own(Laplace):
        def event(self, sensitivity):
            return OwnEvent(super().event(sensitivity).noise_multiplier)

    tested = check_mechanism(Own)
    assert not tested.power
    assert any("no second count of OwnEvent" in words for words in tested.not_tested)

    class OwnAndExact(Own):
        def release(self, exact, sensitivity, noise):
            return np.ldexp(exact.astype(float), -sensitivity.grid_bits)

    with pytest.raises(AssertionError, match="no noise"):
        check_mechanism(OwnAndExact)


def halved(kind, share=0.5):
    """Broken on purpose: half the noise of the event, or another share."""

    class Halved(kind):
        def release(self, exact, sensitivity, noise):
            return kind(self.noise_multiplier * share).release(exact, sensitivity, noise)

    return Halved


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", BUILT_IN)
def test_half_the_noise_is_caught(kind, look_at):
    look_at(2)
    with pytest.raises(AssertionError, match="further apart"):
        check_mechanism(halved(kind))


class ExactSum(Gaussian):
    def release(self, exact, sensitivity, noise):
        return np.ldexp(exact.astype(float), -sensitivity.grid_bits)


class ExactChoice(Exponential):
    def release(self, exact, sensitivity, noise):
        return int(np.argmax(exact))


class NoiseOfItsOwn(Gaussian):
    def release(self, exact, sensitivity, noise):
        scale = self.noise_multiplier * sensitivity.bound * 2**sensitivity.grid_bits
        drawn = np.random.default_rng().normal(scale=scale, size=exact.shape)
        return np.ldexp(np.floor(exact + drawn), -sensitivity.grid_bits)


class SameNoise(Laplace):
    """One deviate for all coordinates: differences of coordinates are exact."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.laplace(self.scale(sensitivity), 1)
        return np.ldexp((exact + drawn).astype(float), -sensitivity.grid_bits)


class OffGrid(Gaussian):
    def release(self, exact, sensitivity, noise):
        return super().release(exact, sensitivity, noise) * 1.1


class IgnoresBound(Laplace):
    """Noise of the multiplier as it is, whatever the sensitivity."""

    def release(self, exact, sensitivity, noise):
        one = Sensitivity("l1", 1.0, sensitivity.relation, sensitivity.grid_bits)
        return super().release(exact, one, noise)


class DividesBy(Laplace):
    """Noise of the inverse of the multiplier."""

    def release(self, exact, sensitivity, noise):
        return Laplace(1 / self.noise_multiplier).release(exact, sensitivity, noise)


class WrongSign(PermuteAndFlip):
    """One-sided noise subtracted where it has to be added (or added to losses)."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.exponential(self.scale(sensitivity), exact.size).astype(np.int64)
        return int(np.argmax(exact - drawn))


class SaysBoundedRange(PermuteAndFlip):
    """Permute-and-flip is epsilon-DP, and not of bounded range epsilon."""

    def event(self, sensitivity):
        return ExponentialMechanismDpEvent(super().event(sensitivity).epsilon)


class TakesAnyNorm(Gaussian):
    def bound_of(self, sensitivity):
        return sensitivity.bound


class MoreNoiseCostsMore(Gaussian):
    def event(self, sensitivity):
        return GaussianDpEvent(1 / float(self.exact_multiplier(sensitivity)))


@pytest.mark.parametrize(
    ("mechanism", "reason"),
    [
        (ExactSum, "no noise"),
        (ExactChoice, "no noise"),
        (NoiseOfItsOwn, "from elsewhere"),
        (SameNoise, "further apart"),
        (OffGrid, "not on the grid"),
        (IgnoresBound, "further apart"),
        (DividesBy, "further apart"),
        pytest.param(WrongSign, "further apart", marks=pytest.mark.slow),
        pytest.param(SaysBoundedRange, "further apart", marks=pytest.mark.slow),
        (TakesAnyNorm, "accepts an"),
        (MoreNoiseCostsMore, "does not cost less"),
    ],
)
def test_a_broken_mechanism_is_caught(mechanism, reason):
    with pytest.raises(AssertionError, match=reason):
        check_mechanism(mechanism)


class RaisesItsOwn(Gaussian):
    """Refuses by errors that are none of dpcore's: honest."""

    def __init__(self, noise_multiplier):
        {True: None}[0 < noise_multiplier < math.inf]
        super().__init__(noise_multiplier)

    def event(self, sensitivity):
        if sensitivity.norm != self.needs:
            raise NotImplementedError("l2 alone")
        return super().event(sensitivity)


class TakesNoNoise(RaisesItsOwn):
    def __init__(self, noise_multiplier):
        super().__init__(noise_multiplier or 1.0)


class TakesOneNormMore(RaisesItsOwn):
    def event(self, sensitivity):
        norm = "l2" if sensitivity.norm == "l1" else sensitivity.norm
        return super().event(replace(sensitivity, norm=norm))


def test_any_exception_is_a_refusal():
    _check_refusals(RaisesItsOwn, "l2")
    with pytest.raises(AssertionError, match="noise_multiplier=0.0 was accepted"):
        _check_refusals(TakesNoNoise, "l2")
    with pytest.raises(AssertionError, match="needs l2 and accepts an l1 sensitivity"):
        _check_refusals(TakesOneNormMore, "l2")


def test_largest_probabilities_in_closed_form():
    # Phi(0 + 1) and Phi(-1 + 1/2), by any table of the normal distribution.
    assert largest_probability(GaussianDpEvent(1.0), 0.5) == pytest.approx(0.8413447460685429)
    assert largest_probability(GaussianDpEvent(2.0), 0.15865525393145707) == pytest.approx(
        0.3085375387259869
    )
    assert largest_probability(PureDpEvent(1.0), 0.1) == pytest.approx(0.1 * np.e)
    assert largest_probability(PureDpEvent(1.0), 0.9) == pytest.approx(1 - 0.1 / np.e)
    odds = 0.25 * np.e
    assert largest_probability(ExponentialMechanismDpEvent(1.0), 0.2) == pytest.approx(
        odds / (1 + odds)
    )
    both = ComposedDpEvent((PureDpEvent(0.5), PureDpEvent(0.25)))
    assert largest_probability(both, 0.01) == pytest.approx(0.01 * np.exp(0.75))


@pytest.mark.parametrize("event", [PureDpEvent(0.5), GaussianDpEvent(2.0)])
def test_the_audit_of_a_distribution_at_its_limit_gives_no_alarm_and_beyond_it_does(event):
    # 300 audits of a distribution exactly at the limit: a false alarm has probability 300
    # FALSE_ALARM.
    assert FALSE_ALARM == 1e-6
    rng = np.random.default_rng(0)
    p = 0.3
    q = largest_probability(event, p)
    for _ in range(300):
        assert_as_private_as(
            event, [(rng.random((1000, 1)) < p, rng.random((1000, 1)) < q)], "distribution"
        )
    with pytest.raises(AssertionError, match="distribution: an outcome"):
        assert_as_private_as(
            event, [(rng.random((1000, 1)) < p, rng.random((1000, 1)) < q + 0.25)], "distribution"
        )


def stated(multiplier):
    """Return events of noise of that multiplier, as somebody states them who has the proof."""
    rho = 1 / (2 * multiplier**2)
    return ZcdpDpEvent(rho), RenyiDpEvent((2.0, 8.0, 32.0), (2 * rho, 8 * rho, 32 * rho))


def test_laplace_noise_of_half_the_size_is_caught_by_its_variance():
    # Its outcomes alone are not too likely for this rho, nor are their complements.
    class States(Laplace):
        def event(self, sensitivity):
            return stated(super().event(sensitivity).noise_multiplier)[0]

    with pytest.raises(AssertionError, match="further apart"):
        check_mechanism(halved(States))


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.3, 2.0, 400.0])
def test_what_a_rho_allows_is_more_than_its_distributions_have(rho):
    p, shift = np.linspace(0.001, 0.999, 41), (2 * rho) ** 0.5  # of Laplace noise, epsilon
    lower = np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p))) + shift
    laplace = np.where(lower < 0, np.exp(np.minimum(lower, 0)) / 2, 1 - np.exp(-lower) / 2)
    allowed = np.array([largest_probability(ZcdpDpEvent(rho), float(each)) for each in p])
    assert (allowed >= ndtr(ndtri(p) + shift)).all() and (allowed >= laplace).all()
    assert (np.diff(allowed) >= 0).all() and allowed.max() <= 1
    # The order 2 alone, as (q - p)^2 <= (e^(2 rho) - 1) p (1 - p): nearly nothing where rho is.
    if rho < 1e-3:
        assert allowed[20] == pytest.approx(0.5 + 0.5 * shift, rel=1e-3)


@pytest.mark.some_fast
@pytest.mark.parametrize(("which", "scalar"), [(0, True), (0, False), (1, False)])
def test_events_that_state_a_bound_are_looked_at(which, scalar, look_at):
    look_at(2)

    class States(Gaussian):
        scalar_only = scalar

        def event(self, sensitivity):
            return stated(super().event(sensitivity).noise_multiplier)[which]

    assert "times the claim" in check_mechanism(States).power
    with pytest.raises(AssertionError, match="further apart"):
        check_mechanism(halved(States))
