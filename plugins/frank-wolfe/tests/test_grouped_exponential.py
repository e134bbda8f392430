"""Draws in groups have the exponential mechanism's distribution, and cost what it does."""

import functools
from fractions import Fraction

import naive_vertices as naive
import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import GridScale, SeededNoise, Sensitivity, load_registry
from dpcore_frank_wolfe import grouped_exponential as module
from dpcore_frank_wolfe.grouped_exponential import GroupedExponential

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
DRAWS = 1500
UTILITIES = {
    "alike": [7] * 5,
    "a step or two": [0, 1, 2, 3, 3, -9],
    "groups far apart": [100, 90, 80, 40, 40, -700, -(10**12)],
    "ends of the grid": [-(2**63), 2**63 - 1, 2**63 - 1, 2**63 - 9],
    "a zero group": [12] + [0] * 400 + [-12],
}


def drawn_of(utilities, multiplier, draws=DRAWS, grid_bits=0):
    mechanism, noise = GroupedExponential(multiplier), SeededNoise(1)
    sensitivity = Sensitivity("linf", 1.0, ADD, grid_bits, change_range=1.0)
    exact = np.array(utilities, dtype=np.int64)
    return np.array([mechanism.release(exact, sensitivity, noise) for _ in range(draws)])


def distance(utilities, multiplier, **more):
    """Return the chi-square distance of draws from the distribution, over its standard deviation,
    with candidates of one utility taken together and classes of few draws left out."""
    drawn = np.array(utilities, dtype=object)[drawn_of(utilities, multiplier, **more)]
    distribution = naive.probabilities(utilities, Fraction(multiplier))
    values = sorted(set(utilities))
    expected = [
        DRAWS * sum(p for u, p in zip(utilities, distribution, strict=True) if u == v)
        for v in values
    ]
    counted = [(sum(drawn == v), e) for v, e in zip(values, expected, strict=True) if e >= 8]
    assert sum(e for _, e in counted) > 0.99 * DRAWS
    square = sum((count - e) ** 2 / e for count, e in counted)
    return (square - len(counted) + 1) / np.sqrt(2 * max(1, len(counted) - 1))


@pytest.mark.parametrize("multiplier", [0.75, 37.5])
@pytest.mark.parametrize("name", UTILITIES)
def test_draws_have_the_distribution(name, multiplier):
    # Of chi-square's upper tail 6 deviations are beyond 1 in 10,000 for any number of classes.
    assert distance(UTILITIES[name], multiplier) < 6


def test_candidates_of_one_utility_are_alike():
    drawn = drawn_of([1, 0, 0, 0, 0], 2.0)
    counts = np.bincount(drawn, minlength=5)[1:]
    assert np.abs(counts - counts.mean()).max() < 5 * np.sqrt(counts.mean())


def test_a_draw_that_forgets_a_coin_is_found(monkeypatch):
    # All that is proposed is kept; and coins of e^(-k) W^-1 as if the weight were the distribution.
    noise = SeededNoise(1)
    kept = [module._is_kept(0, 0, 2**36 + 1, (0, 1), GridScale(5), noise) for _ in range(50)]
    assert not any(kept)  # the first words decide
    monkeypatch.setattr(module, "_is_kept", lambda *_: True)
    assert distance(UTILITIES["a step or two"], 2.5) > 20


def test_a_coin_has_the_share_of_its_own_group(monkeypatch):
    whole, seen = module._is_kept, {}

    def is_kept(missing, group, weight, share, *others):
        seen[group] = share == module._share_of_weight(group, weight, module._FIRST_BITS)
        return whole(missing, group, weight, share, *others)

    monkeypatch.setattr(module, "_is_kept", is_kept)
    drawn_of([*range(12)], 1.0, draws=60)
    assert len(seen) > 2 and all(seen.values())


@pytest.mark.parametrize("group", [0, 1, 7, 63])
def test_weights_are_above_and_next_to_the_exponential(group):
    weights, shares = module._weights()
    weight = int(weights[group])
    assert shares[group] == module._share_of_weight(group, weight, module._FIRST_BITS)
    real = Fraction(np.exp(-np.longdouble(group)).astype(float)) * 2**module._WEIGHT_BITS
    assert real * (1 - Fraction(1, 2**40)) < weight <= real + 2
    for bits in (64, 192, 1000):
        low, high = module._share_of_weight(group, weight, bits)
        assert 0 <= low < high <= 2**bits + 2**8
        assert abs(low - real * 2**bits / weight) < real * 2 ** (bits - 45) + 2


def test_a_uniform_number_is_that_of_its_group_and_candidate(monkeypatch):
    class Given:
        def integers_below(self, end):
            return ends.pop(0)

    first, second = module._weights()[0][:2].tolist()
    monkeypatch.setattr(module, "_is_kept", lambda *_: True)
    sensitivity = Sensitivity("linf", 1.0, ADD, 0, change_range=1.0)
    exact, found = np.array([9, 7, 9]), []
    ends = [0, first - 1, first, 2 * first - 1, 2 * first, 2 * first + second - 1]
    while ends:
        found.append(GroupedExponential(1.0).release(exact, sensitivity, Given()))
    assert found[0] == found[1] != found[2] == found[3] and set(found[:4]) == {0, 2}
    assert found[4:] == [1, 1]


def test_a_utility_just_within_a_group_has_the_probability_of_its_own():
    """In floats that are rounded up it would be of the next group, and be drawn e times less."""
    sensitivity = Sensitivity("linf", 1.0, ADD, 45, change_range=1.0)
    below = int(GroupedExponential(1.5).scale(sensitivity).steps) - 1
    drawn = drawn_of([0, -below], 1.5, draws=400, grid_bits=45)
    assert abs(drawn.mean() - 1 / (1 + np.e)) < 4 * np.sqrt(0.2 / 400)


def test_the_cost_is_the_exponential_mechanisms():
    sensitivity = Sensitivity("linf", 0.5, ADD, 12, change_range=1.0)
    theirs = load_registry().load("mechanism", "exponential")(3.3)
    ours = GroupedExponential(3.3)
    assert ours.event(sensitivity) == theirs.event(sensitivity)
    assert ours.scale(sensitivity) == theirs.scale(sensitivity)


def test_what_are_no_utilities_is_refused():
    sensitivity = Sensitivity("linf", 1.0, ADD, 0, change_range=1.0)
    for wrong in (np.zeros(3), np.zeros(0, np.int64), np.zeros((2, 2), np.int64)):
        with pytest.raises(InvalidInputError):
            GroupedExponential(1.0).release(wrong, sensitivity, SeededNoise(0))


def caches_after(utilities):
    """Return what caches of the module count, their calls too, after 60 draws."""
    module._weights.cache_clear()
    drawn_of(utilities, 2.0, draws=60)
    held = {name: getattr(each, "cache_info", None) for name, each in vars(module).items()}
    return {name: told() for name, told in held.items() if told is not None}


NEAR, FAR = [0] * 40, [9] + [0] * 2000


def test_the_process_keeps_nothing_of_how_far_utilities_are_apart():
    assert caches_after(NEAR) == caches_after(FAR)
    ((name, counts),) = caches_after(FAR).items()
    assert (name, counts.hits, counts.misses) == ("_weights", 59, 1)  # asked once a draw


def test_shares_that_are_kept_tell_how_far_the_selected_one_is(monkeypatch):
    """The broken twin: the groups of candidates that are selected, or nearly, are in a cache."""
    kept, whole = functools.lru_cache(maxsize=64)(module._share_of_weight), module._is_kept

    def is_kept(missing, group, weight, *others):
        return whole(missing, group, weight, kept(group, weight, module._FIRST_BITS), *others[1:])

    monkeypatch.setattr(module, "kept", kept, raising=False)
    monkeypatch.setattr(module, "_is_kept", is_kept)
    assert caches_after(NEAR) != caches_after(FAR)
