"""Gaussian, Laplace and geometric releases: their costs against exact distributions, scales,
wrapping."""

import math

import mpmath
import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.mechanisms.geometric import Geometric
from dpcore.mechanisms.laplace import Laplace
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GridScale,
    LaplaceDpEvent,
    NoiseSource,
    PureDpEvent,
    ScaledNoise,
    SeededNoise,
    Sensitivity,
)

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
NEEDS = {Gaussian: "l2", Laplace: "l1", Geometric: "l1"}
ORDERS = (1.05, 1.5, 2, 4, 12)


def sensitivity(norm, bound=1.0, grid_bits=0, relation=ADD):
    return Sensitivity(norm, bound, relation, grid_bits)


def rho_of(event):
    """The zCDP value claimed for an event (alpha times it bounds every Renyi order alpha)."""
    if isinstance(event, GaussianDpEvent):
        return 1 / (2 * mpmath.mpf(event.noise_multiplier) ** 2)
    if isinstance(event, LaplaceDpEvent):
        eps = 1 / mpmath.mpf(event.noise_multiplier)
        return eps + mpmath.exp(-eps) - 1
    eps = mpmath.mpf(event.epsilon)
    return eps * mpmath.tanh(eps / 2)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism, mass", [
    (Gaussian, "gaussian"), (Laplace, "laplace"), (Geometric, "geometric"),
])  # fmt: skip
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
def test_renyi_divergence_of_the_exact_distribution_is_within_the_claim(
    reference, mechanism, mass, steps, scale
):
    change = sensitivity(NEEDS[mechanism], float(steps))
    chosen = mechanism(scale / steps)
    drawn = chosen.scale(change).steps
    assert drawn >= scale * 0.9999
    claim = rho_of(chosen.event(change))
    with mpmath.workdps(40):
        for alpha in ORDERS:
            reach = int(60 * max(scale, 1)) + 14 * steps
            exact = reference.renyi_divergence(getattr(reference, mass), drawn, steps, alpha, reach)
            assert exact <= claim * alpha * (1 + mpmath.mpf(10) ** -12)


def test_the_geometric_distribution_does_not_have_the_cost_of_laplace(reference):
    # Positive control: at a change of one grid step the Laplace bound would be too low for it.
    with mpmath.workdps(40):
        exact = reference.renyi_divergence(reference.geometric, 2, 1, 1.001, 200)
        assert exact > 1.1 * rho_of(LaplaceDpEvent(2.0)) * 1.001
        assert exact < rho_of(PureDpEvent(0.5)) * 1.001


def total_variation(mass, scale):
    return mpmath.fsum(abs(mass(z - 1, scale) - mass(z, scale)) for z in range(-40, 41)) / 2


def discrete_gaussian(z, scale):
    weights = {i: mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * scale**2)) for i in range(-60, 61)}
    return weights[z] / mpmath.fsum(weights.values())


def test_floored_normal_noise_stays_below_the_gaussian_trade_off_curve(reference):
    # At its middle that curve says TV <= 2 Phi(1 / (2 sigma)) - 1. The discrete Gaussian, which
    # has the same zCDP bound, is above it: it may not be accounted by Gaussian DP.
    curve = 2 * mpmath.ncdf(1) - 1
    assert total_variation(reference.gaussian, 0.5) <= curve
    assert total_variation(discrete_gaussian, 0.5) > 1.1 * curve


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_pure_epsilon_is_attained_and_never_exceeded(reference, steps):
    for mechanism, mass in ((Laplace, reference.laplace), (Geometric, reference.geometric)):
        event = mechanism(1.25).event(sensitivity("l1", float(steps)))
        epsilon = getattr(event, "epsilon", None) or 1 / event.noise_multiplier
        scale = 1.25 * steps
        worst = max(
            abs(mpmath.log(mass(z - steps, scale) / mass(z, scale))) for z in range(-40, 41)
        )
        assert worst <= epsilon * (1 + 1e-12) and worst >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize("mechanism", NEEDS)
@pytest.mark.parametrize("grid_bits", [0, 16, 40])
def test_released_noise_has_the_scale_of_the_event(mechanism, grid_bits):
    change = sensitivity(NEEDS[mechanism], 0.75, grid_bits)
    event = mechanism(2.0).event(change)
    multiplier = getattr(event, "noise_multiplier", None) or 1 / event.epsilon
    assert multiplier == pytest.approx(2.0, rel=1e-15)
    hidden = np.full(20_000, 3 << grid_bits, dtype=np.int64)
    released = mechanism(2.0).release(hidden, change, SeededNoise(3))
    spread = np.mean(np.abs(released - 3.0))
    wanted = 1.5 * (math.sqrt(2 / math.pi) if mechanism is Gaussian else 1.0)
    # The mean size of 20,000 has a relative error below 1 %, and a grid of one step adds 15 %.
    assert spread == pytest.approx(wanted, rel=0.04 if grid_bits else 0.2)


def test_replace_one_doubles_the_noise_not_the_cost():
    one, two = sensitivity("l2", 0.5, 20), sensitivity("l2", 1.0, 20, REPLACE)
    mechanism = Gaussian(3.7)
    assert mechanism.scale(two).steps == 2 * mechanism.scale(one).steps
    assert mechanism.event(two) == mechanism.event(one)


def test_events_are_rounded_to_the_side_that_costs_more():
    change = sensitivity("l2", 0.1, 30)
    for multiplier in (0.1, 1 / 3, 7.3, 1e5):
        mechanism = Gaussian(multiplier)
        assert mechanism.event(change).noise_multiplier <= mechanism.exact_multiplier(change)
        assert mechanism.event(change).noise_multiplier >= multiplier
        pure = Geometric(multiplier).event(sensitivity("l1", 0.1, 30))
        assert pure.epsilon <= Geometric.nominal_event(multiplier).epsilon
    assert Gaussian.nominal_event(1.5) == GaussianDpEvent(1.5)
    assert Laplace.nominal_event(1.5) == LaplaceDpEvent(1.5)
    assert Geometric.nominal_event(0.25) == PureDpEvent(4.0)
    third = Geometric.nominal_event(3.0).epsilon
    assert 3 * mpmath.mpf(third) >= 1 and third == math.nextafter(1 / 3, 1)


@pytest.mark.parametrize("mechanism", NEEDS)
def test_a_sum_that_leaves_64_bits_wraps(mechanism):
    # x + Z modulo 2^64 is post-processing: the same noise, shifted by x, on a circle.
    change = sensitivity(NEEDS[mechanism], float(1 << 40))
    edge = np.array([2**63 - 1, -(2**63), 0, 5], dtype=np.int64)
    released = mechanism(1.0).release(edge, change, SeededNoise(3))
    scale = GridScale(1 << 40)
    mass = {Gaussian: "gaussian", Laplace: "laplace", Geometric: "geometric"}[mechanism]
    drawn = getattr(SeededNoise(3), mass)(scale, 4)
    wrapped = [(int(x) + int(z) + 2**63) % 2**64 - 2**63 for x, z in zip(edge, drawn, strict=True)]
    assert released.tolist() == [float(v) for v in wrapped]
    assert drawn.min() < 0 < drawn.max()


def test_the_precision_attack_finds_nothing_in_released_values(reference):
    # sigma of 2^50 steps: released values are exact floats, and reach every last byte from 0 and 1.
    change = sensitivity("l2", 1.0, 20)
    for hidden in (0, 1):
        exact = np.full(10_000, hidden, dtype=np.int64)
        released = Gaussian(2.0**30).release(exact, change, SeededNoise(1))
        last = np.ldexp(released, 20).astype(np.int64) % 256
        counts = np.bincount(last, minlength=256)
        assert reference.p_value_of_counts(counts, np.full(256, 1 / 256)) > reference.FALSE_ALARM


@pytest.mark.parametrize("mechanism", NEEDS)
def test_shapes(mechanism):
    change = sensitivity(NEEDS[mechanism])
    for shape in ((), (1,), (2, 3), (0,)):
        released = mechanism(1.0).release(
            np.zeros(shape, dtype=np.int64), change, NoiseSource.of_seed()
        )
        assert np.shape(released) == shape and np.asarray(released).dtype == np.float64


@pytest.mark.parametrize("mechanism", NEEDS)
def test_the_wrong_norm_is_refused(mechanism):
    wrong = "l1" if NEEDS[mechanism] == "l2" else "l2"
    chosen = mechanism(1.0)
    for ask in (
        chosen.event,
        lambda s: chosen.release(np.zeros(1, np.int64), s, NoiseSource.of_seed()),
    ):
        with pytest.raises(InvalidInputError, match=f"{chosen.name} mechanism needs an .* {wrong}"):
            ask(sensitivity(wrong))


@pytest.mark.parametrize("mechanism", NEEDS)
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1, "2", None])
def test_an_unusable_multiplier_is_refused(mechanism, value):
    with pytest.raises(InvalidInputError, match="Expected noise_multiplier="):
        mechanism(value)


def test_noise_beyond_the_grid_and_floats_are_refused():
    change = sensitivity("l2", 1.0, 40)
    with pytest.raises(InvalidInputError, match="does not fit the 64-bit grid"):
        Gaussian(2.0**18).event(change)
    with pytest.raises(InvalidInputError, match="int64 array of grid steps"):
        Gaussian(1.0).release(np.zeros(3), change, NoiseSource.of_seed())


def test_noise_of_another_shape_is_not_added():
    # Beside an answer in one column it would be broadcast: each entry's noise to all of them.
    with pytest.raises(InvalidInputError, match=r"noise of shape \(4, 1\), not \(4,\)"):
        ScaledNoise.add_modulo(np.zeros((4, 1), dtype=np.int64), np.zeros(4, dtype=np.int64), 0)


def test_the_bound_that_noise_is_scaled_to_has_its_old_name_with_a_warning():
    with pytest.warns(FutureWarning, match="figure is bound_of now"):
        assert Gaussian(2.0).figure(sensitivity("l2", 3.0)) == 3.0


class Twice:
    def figure(self, sensitivity):
        return 2 * sensitivity.bound


def later(base):
    kind = type("Wider", (base,), {})
    kind.figure = Twice.figure
    return kind


@pytest.mark.parametrize(
    "made",
    [
        lambda base: type("Wider", (base,), {"figure": Twice.figure}),
        lambda base: type("Wider", (type("Between", (base,), dict(vars(Twice))),), {}),
        lambda base: type("Wider", (Twice, base), {}),  # as a mixin has it
        later,
    ],
)
def test_noise_scaled_by_a_method_of_the_old_name_is_refused(made):
    wider, change = made(Laplace)(2.0), sensitivity("l1", 3.0)
    for ask in (wider.event, wider.scale, wider.exact_multiplier, wider.bound_of):
        with pytest.raises(InvalidInputError, match="Wider.figure is bound_of now"):
            ask(change)
    with pytest.raises(InvalidInputError, match="Wider.figure is bound_of now"):
        wider.release(np.zeros(1, dtype=np.int64), change, SeededNoise(0))


def test_a_method_of_the_old_name_beside_the_new_one_scales_nothing():
    class Both(Twice, Laplace):
        def bound_of(self, sensitivity):
            return 5.0

    assert Both(2.0).scale(sensitivity("l1", 3.0)).steps == 10
