import numpy as np
import pytest

from dpcore.plugin.parts import NoiseSource, SeededNoise
from dpcore_a_ddp.pools.noise_ahead import NoiseAhead

USERS, WIDTH = 60, 4


class Rules:
    """Of rounds whose noise counts up, so that a value that comes twice is seen."""

    n_features, noise_multiplier, is_secure = WIDTH, 1.0, False

    def __init__(self):
        self.drawn = 0

    def draw(self, noise, shape, threads=1):
        size = int(np.prod(shape))
        self.drawn += size
        return np.arange(self.drawn - size, self.drawn).reshape(shape)


class Shared(NoiseAhead):
    """The broken twin: arrays of one batch share their memory."""

    def _batch(self, shape):
        return list(self._rules.draw(self._noise, (2, *shape)))


class Repeated(NoiseAhead):
    """The broken twin: what was taken stays where it was."""

    def take(self, shape):
        out = super().take(shape)
        self._ready.append(out)
        return out


def taken(kind, shapes):
    ahead = kind(Rules(), NoiseSource.of_seed())
    return [ahead.take(shape) for shape in shapes]


SHAPES = [(USERS, WIDTH)] * 2500 + [(USERS - 1, WIDTH)] * 3 + [(0, WIDTH), (USERS, WIDTH)]


@pytest.mark.parametrize("kind, once", [(NoiseAhead, True), (Repeated, False)])
def test_noise_is_handed_out_once(kind, once):
    values = [out.ravel() for out in taken(kind, SHAPES)]
    assert [out.size // WIDTH for out in values] == [users for users, _ in SHAPES]
    found = np.concatenate(values)
    assert (np.unique(found).size == found.size) is once


@pytest.mark.parametrize("kind, own", [(NoiseAhead, True), (Shared, False)])
def test_noise_of_a_round_leads_to_no_other(kind, own):
    assert (taken(kind, SHAPES[:1])[0].base is None) is own


def test_an_interrupted_wait_loses_noise_and_repeats_none():
    ahead = NoiseAhead(Rules(), NoiseSource.of_seed())
    first = ahead.take((USERS, WIDTH))
    ahead._ready.clear()
    done = ahead._coming

    class Interrupted:
        def result(self):
            done.result()
            raise KeyboardInterrupt

    ahead._coming = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        ahead.take((USERS, WIDTH))
    lost = np.concatenate(done.result())
    found = np.concatenate([ahead.take((USERS, WIDTH)) for _ in range(2500)])
    assert not np.isin(found, lost).any() and not np.isin(found, first).any()


def test_an_interrupt_while_users_leave_begins_anew(monkeypatch):
    ahead = NoiseAhead(Rules(), NoiseSource.of_seed())
    ahead.take((USERS, WIDTH))
    begun = ahead._begun

    def interrupted(shape):
        begun(shape)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ahead, "_begun", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ahead.take((USERS - 1, WIDTH))
    for users in (USERS - 1, USERS, USERS - 1):
        assert ahead.take((users, WIDTH)).shape == (users, WIDTH)


def test_a_draw_that_fails_fails_the_round():
    class Empty(Rules):
        def draw(self, noise, shape, threads=1):
            raise OSError("no entropy")

    with pytest.raises(OSError, match="no entropy"):
        NoiseAhead(Empty(), NoiseSource.of_seed()).take((USERS, WIDTH))


def test_noise_is_drawn_ahead_where_that_changes_nothing():
    rules = Rules()
    assert NoiseAhead.of(rules, NoiseSource.of_seed(), USERS, 2) is not None
    assert NoiseAhead.of(rules, NoiseSource.of_seed(), USERS, 1) is None
    assert NoiseAhead.of(rules, SeededNoise(1), USERS, 2) is None
    assert NoiseAhead.of(rules, NoiseSource.of_seed(), 10**6, 2) is None
    rules.noise_multiplier = 0
    assert NoiseAhead.of(rules, NoiseSource.of_seed(), USERS, 2) is None
