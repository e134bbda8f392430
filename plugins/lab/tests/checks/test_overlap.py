"""Calls that overlap at every line, whatever the load."""

import threading

import numpy as np
import pytest

from dpcore_lab.checks.memory import assert_not_mixed
from dpcore_lab.overlap import run_between_lines


class Scratch:
    """Twice the margins, by way of an array that is kept."""

    kept = np.empty(64)

    def dvalue(self, z, y):
        kept = self.kept[: z.size]
        np.multiply(z, y, out=kept)
        return 2.0 * kept


class Locked(Scratch):
    lock = threading.Lock()

    def dvalue(self, z, y):
        with self.lock:
            return super().dvalue(z, y)


class OwnScratch(Scratch):
    def dvalue(self, z, y):
        kept = np.empty(z.size)
        np.multiply(z, y, out=kept)
        return 2.0 * kept


def check(loss, monkeypatch):
    monkeypatch.setattr("dpcore_lab.checks.memory.run_overlapping", lambda *_: None)
    z = np.arange(64.0)
    assert_not_mixed(lambda name, z, y: getattr(loss, name)(z, y), "dvalue", z, np.ones(64))


def test_scratch_space_is_found_without_luck(monkeypatch):
    with pytest.raises(AssertionError, match="other bits where calls overlap"):
        check(Scratch(), monkeypatch)


@pytest.mark.parametrize("loss", [Locked(), OwnScratch()])
def test_a_lock_and_scratch_space_of_each_call_are_safe(loss, monkeypatch):
    check(loss, monkeypatch)


def test_lines_of_the_core_are_left_alone():
    seen = []
    run_between_lines(lambda: np.linalg.norm(np.ones(3)), lambda: seen.append(1))
    assert len(seen) == 1  # The one line of this module.
