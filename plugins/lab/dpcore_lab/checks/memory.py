"""Checks of a loss that it keeps nothing between calls, mixes none of several at a time, and gives
every row numbers of its own."""

from __future__ import annotations

import threading
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import Table
from dpcore_lab.overlap import run_between_lines, run_overlapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Called = Callable[[str, np.ndarray, np.ndarray], np.ndarray]
    """``value`` or ``dvalue``, margins and labels in, new numbers out."""

__all__ = [
    "USUAL_CALLS",
    "assert_alike_in_any_company",
    "assert_alike_in_company",
    "assert_no_memory",
    "assert_not_mixed",
]

USUAL_CALLS = 300
"""Other calls, after which the same margins are asked for again."""
_NAMES = ("dvalue", "value")
_FEW = 16
_OVERLAPPING_CALLS, _THREADS = 50, 4
_IN_COMPANY, _FAR = (Table.BLOCK_ROWS, 1001, 65), 600.0
"""Rows that are all alike but one, and how far that one is on the wrong side."""
_LOOKED_AT = 16
"""Rows that are alone, and then in front of others of every make."""
_SPREADS = 0.01, 0.5
"""Residuals of targets: those of a good fit, and of none."""


def assert_no_memory(
    called: Called, z: np.ndarray, y: np.ndarray, calls: int, thread_safe: bool
) -> None:
    """Raise AssertionError if values or slopes of the same margins are others in a second call.
    Between the two are ``calls`` calls with other rows, or other numbers of them; where the loss
    says that it is safe there, the second is made in another thread, too.

    ``z``, ``y`` : margins, whose last axis is that of the rows, and labels.
    """
    first = {name: called(name, z, y).tobytes() for name in _NAMES}

    def compare(when: str) -> None:
        for name in reversed(_NAMES):
            assert called(name, z, y).tobytes() == first[name], (
                f"{name} gives other bits for the same rows {when}: the loss keeps something "
                "between calls."
            )

    compare("in the next call")
    for k in range(calls):
        # Other rows, few of them and many, values and slopes in turn.
        some = np.roll(np.arange(y.size), -k)[: y.size if k % 50 == 0 else _FEW]
        called(_NAMES[k % 2], -z[..., some], y[some])
    compare(f"after {calls} calls with other rows")
    if thread_safe:
        _in_a_thread(lambda: compare("in another thread"))


def _in_a_thread(work: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def assert_not_mixed(called: Called, name: str, z: np.ndarray, y: np.ndarray) -> None:
    """Raise AssertionError if threads that call at a time, each with rows of its own, many times
    over, have other bits than alone: scratch space of the loss would mix them. A loss that passes
    may still be unsafe; a loss that fails is."""
    parts = [(z[..., k::_THREADS].copy(), y[k::_THREADS].copy()) for k in range(_THREADS)]
    expected = [called(name, *part).tobytes() for part in parts]
    mixed: list[int] = []

    def repeat(k: int) -> None:
        for _ in range(_OVERLAPPING_CALLS):
            if not mixed and called(name, *parts[k]).tobytes() != expected[k]:
                mixed.append(k)

    def once(k: int) -> None:
        if called(name, *parts[k]).tobytes() != expected[k]:
            mixed.append(k)

    run_overlapping(repeat, _THREADS)
    if not mixed:
        run_between_lines(lambda: once(0), lambda: once(1))
    assert not mixed, f"{name} gives other bits where calls overlap: it is not thread-safe."


def assert_alike_in_company(called: Called, labels: np.ndarray, n_classes: int) -> None:
    """Raise AssertionError if numbers of rows whose losses are all small change with one row among
    them: it is put far on the wrong side, and at 0.

    Rows of every size hide what a loss makes of the largest of a call, since that is the same in
    every part of them. ``labels`` : a full block's. ``n_classes`` : 0 for targets, 2 for one
    margin, or the number of margins.
    """
    for size, spread in product(_IN_COMPANY, (1.0,) if n_classes else _SPREADS):
        y = labels[:size]
        away = spread * np.linspace(0.25, 2.0, y.size)
        if n_classes > 2:
            z = np.where(np.arange(n_classes)[:, None] == y, 2.0, 0.0) * away
        else:
            z = y * away if n_classes else y + away
        for name in ("value", "dvalue"):
            before = called(name, z, y)
            for margin in (-_FAR, 0.0):
                moved = z.copy()
                moved[..., 0] = margin * (z[..., 0] if n_classes else 1.0)
                after = called(name, moved, y)
                assert before[..., 1:].tobytes() == after[..., 1:].tobytes(), (
                    f"{name} gives other bits once another of {y.size:,} rows is changed: a row's "
                    "loss depends on the other rows."
                )


def assert_alike_in_any_company(called: Called, labels: np.ndarray, n_classes: int) -> None:
    """Raise AssertionError if numbers of a few rows of one label change with the rows behind them.

    Those are of the same label, of the others, or of all; they are alike, at 0, certain or wrong,
    close together, far apart or in order. What a loss makes of the shares of labels, of ties or of
    the rows' spread is the same in every part of rows that are drawn at random. ``labels`` and
    ``n_classes`` : as of ``assert_alike_in_company``.
    """
    kinds = np.unique(labels) if n_classes else np.array([-1.0, 0.25, 1.0])
    away = np.linspace(-1.5, 1.5, _LOOKED_AT)
    for label in kinds[[0, -1]]:
        few = np.full(_LOOKED_AT, label)
        z = _margins(few, away, n_classes)
        for name in _NAMES:
            alone = called(name, z, few).tobytes()
            for words, margins, y in _companies(label, kinds, labels, n_classes):
                both = np.concatenate([z, margins], axis=-1), np.concatenate([few, y])
                found = np.ascontiguousarray(called(name, *both)[..., :_LOOKED_AT])
                assert found.tobytes() == alone, (
                    f"{name} gives other bits for the same rows before {y.size:,} others, "
                    f"{words}: a row's loss depends on the other rows."
                )


def _companies(
    label: float, kinds: np.ndarray, labels: np.ndarray, n_classes: int
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield other rows in words, their margins and their labels."""
    rng = np.random.default_rng(1)
    for size in (Table.BLOCK_ROWS - _LOOKED_AT, 985, 3):
        others = kinds[kinds != label]
        of_labels = {
            "of their label": np.full(size, label),
            "of other labels": np.resize(others, size),
            "of any label": np.resize(labels, size),
        }
        spreads = {
            "all alike": np.full(size, 0.5),
            "at 0": np.zeros(size),
            "certain": np.full(size, 40.0),
            "wrong": np.full(size, -40.0),
            "close together": 1e-6 * rng.standard_normal(size),
            "far apart": 1e3 * rng.standard_normal(size),
            "in order": np.linspace(-4.0, 4.0, size),
        }
        for words, y in of_labels.items():
            for more, away in spreads.items():
                yield f"{words}, {more}", _margins(y, away, n_classes), y


def _margins(y: np.ndarray, away: np.ndarray, n_classes: int) -> np.ndarray:
    """Return margins that are so far on the right side of their labels, or beside their targets."""
    if n_classes > 2:
        margins: np.ndarray = np.where(np.arange(n_classes)[:, None] == y, 1.0, 0.0) * away
        return margins
    beside: np.ndarray = y * away if n_classes else y + away
    return beside
