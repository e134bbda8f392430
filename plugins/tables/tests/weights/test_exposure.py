"""Exposures: weights of rows that a loss of counts takes as spans, by their logarithms."""

import math

import numpy as np
import pytest

from dpcore.plugin.parts import LossFacts, load_registry
from dpcore_tables.weights.sample_weighted import SampleWeighted

PAIRS = [("label", np.float64), ("weight", np.float64)]
SETTINGS = [(a, bound) for a in (2.0**-6, 1.0, 64.0) for bound in (2.0**-4, 1.0, 12.0)]


def loss_of(overdispersion, *, exposure=True):
    kind = load_registry().load("loss", "negative-binomial")
    return kind(overdispersion=overdispersion, exposure=exposure)


def rows(bound, n=4000, seed=1):
    """Return margins, pairs of label and exposure, both at their ends too, and the exposures."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-12.0, 12.0, n)
    z[:6] = 700.0, -700.0, 30.0, -30.0, 0.0, 4.0
    pairs = np.empty(n, dtype=PAIRS)
    pairs["label"] = rng.choice([-1.0, -0.5, 0.25, 1.0], n)
    pairs["weight"] = bound * rng.choice([0.0, 1e-9, 0.01, 0.4, 1.0, 7.0], n)
    return z, pairs, np.clip(pairs["weight"], bound * 2.0**-20, bound)


def filled(fill, z, y):
    out = np.empty(z.size)
    fill(z, y, out)
    return out


@pytest.mark.parametrize(("a", "bound"), SETTINGS)
def test_a_row_is_a_count_over_its_span(a, bound):
    z, pairs, e = rows(bound)
    plain = loss_of(a, exposure=False)
    weighted = SampleWeighted(loss_of(a), bound)
    steps = [math.floor(math.log(x) * 2**16 + 1e-9 * math.copysign(1, x)) for x in e]
    wanted = z + np.array(steps) / 2**16, e * (1.0 + pairs["label"]) - 1.0
    for name in ("value", "dvalue"):
        found = filled(getattr(weighted, name), z, pairs)
        np.testing.assert_allclose(found, filled(getattr(plain, name), *wanted), atol=2e-3 * a)
        # A row has the same bits alone, elsewhere, and beside others.
        order = np.random.default_rng(2).permutation(z.size)
        again = filled(getattr(weighted, name), z[order], pairs[order])
        assert np.array_equal(again, found[order])
        alone = [filled(getattr(weighted, name), z[k : k + 1], pairs[k : k + 1])[0] for k in (0, 9)]
        assert alone == [found[0], found[9]]


@pytest.mark.parametrize(("a", "bound"), SETTINGS)
def test_the_slope_is_the_derivative_and_within_the_constants(a, bound):
    z, pairs, _ = rows(bound)
    weighted, h = SampleWeighted(loss_of(a), bound), 2.0**-12
    facts = LossFacts.of(weighted)
    value, slope = (lambda at, fill=fill: filled(fill, at, pairs) for fill in
                    (weighted.value, weighted.dvalue))  # fmt: skip
    near = np.abs(z) < 13.0
    rise = (value(z + h) - value(z - h)) / (2 * h)
    scale = 1.0 + np.abs(value(z))
    assert (np.abs(rise - slope(z)) / scale)[near].max() < 1e-4
    assert np.abs(slope(z)).max() <= facts.lipschitz
    curvature = np.abs(slope(z + h) - slope(z - h)) / (2 * h)
    assert curvature[near].max() <= facts.smoothness * (1 + 1e-6)


def test_constants_by_the_bound_alone_would_be_exceeded():
    """The broken twin: a weight of a sixteenth makes slopes so much smaller, an exposure does
    not."""
    bound, a = 2.0**-4, 1.0
    z, pairs, _ = rows(bound)
    weighted = SampleWeighted(loss_of(a), bound)
    twin = bound * loss_of(a).lipschitz
    assert np.abs(filled(weighted.dvalue, z, pairs)).max() > twin
    plain = SampleWeighted(loss_of(a, exposure=False), bound)
    assert np.abs(filled(plain.dvalue, z, pairs)).max() <= plain.lipschitz <= 1.01 * twin
    assert LossFacts.of(weighted).radial_slope is None and weighted.largest_weight >= 1.0
