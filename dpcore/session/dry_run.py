"""A question asked of no rows, before it is charged: whatever its answer needs is loaded then.

Kernels are loaded from the cache or compiled, and modules imported, in the thread that asks, before
any other starts. What cannot be had is said while nothing is charged.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

from dpcore.data.weighted_labels import clamped_labels
from dpcore.errors import (
    AnswerError,
    EngineError,
    InvalidInputError,
    KernelError,
    replacing,
    warn_caller,
)
from dpcore.noise.source import NoiseSource
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.registry.tables.losses import LossFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpcore.data.blocks.block import Block
    from dpcore.protocols.problem import Problem

__all__ = ["DryRun", "load_now"]


class DryRun:
    """Asks each kind of sum once of an engine without rows, before it is charged.

    The session's engine offers that one by ``without_rows``; else there is no dry run. Nothing is
    drawn from the session's noise. Of a query that is no sum the sums are asked that it holds, or
    that ``dry_run_queries`` of a part of it returns, or the functions of a block of no rows.

    ``problem`` : given the run's facts, the first query comes with the sum that most runs ask
    later, so that its kernels are there before the first charge.
    """

    def __init__(self, engine: Any, problem: Problem | None) -> None:
        self._whole, self._engine, self._problem = engine, None, problem
        self._known: set[tuple[frozenset[type], tuple[int, ...] | None]] = set()

    def ask(self, query: Any, parts: Iterable[Any]) -> None:
        """Answer the query, which holds these ``parts``, unless one of the same kind and shape was
        answered.

        Raises KernelError where a kernel or a module that it needs cannot be loaded, AnswerError
        where its answer is not int64 of the shape that it states. A query that no rows do not suit
        is none of its business: the release will say so, or not.
        """
        kind = (frozenset(map(type, parts)), _stated_shape(query))
        if kind in self._known or not hasattr(self._whole, "without_rows"):
            return
        if self._engine is None:
            load_now(self._open)
        self._require_weights(query)
        for asked in {id(s): s for s in map(_sum_of, (query, *_asked_by(parts)))}.values():
            load_now(partial(self._answer, asked))
        self._known.add(kind)

    def _require_weights(self, query: Any) -> None:
        """Refuse a sum that reads labels without the weights that the run's rows have."""
        if self._problem is None or not LossFacts.of(self._problem.loss).weighs_rows:
            return
        with replacing(
            TypeError,
            TypingError,
            by=lambda _: InvalidInputError(
                f"{type(query).__name__} does not read the weights of rows: sample_weight does not "
                "fit it."
            ),
        ):
            self._answer(_sum_of(query))

    def _open(self) -> None:
        NoiseSource.load_kernels(1)
        self._engine = self._whole.without_rows()
        if (problem := self._problem) is not None:
            for asked in (
                ClippedGradientSum(problem, np.zeros(problem.w_shape), 1.0),
                _Loads(partial(_kernels_of_rows, problem)),
            ):
                with suppress(AnswerError):  # Nobody asked it yet.
                    load_now(partial(self._answer, asked))

    def _answer(self, query: Any) -> None:
        if self._engine is not None and hasattr(query, "answer_block"):
            NoiseSource.load_kernels(self._engine.answer(query).size)


class _Loads:
    """A sum that hands a block of no rows to a function, for the kernels that this loads."""

    def __init__(self, load: Callable[[Block], Any]) -> None:
        self._load = load

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        self._load(block)
        return self.start()


def _kernels_of_rows(problem: Problem, block: Block) -> None:
    """Call what queries of a run call of a block and of its loss, for that alone."""
    facts, z = LossFacts.of(problem.loss), block.margins(np.zeros(problem.w_shape))
    slopes, copy = np.empty(z.shape), clamped_labels(block.y)
    facts.value(z, block.y, np.empty(block.n_rows))
    for slope in filter(None, (facts.dvalue, facts.precise_dvalue)):
        # A kernel of what nobody may write to is another one.
        slope(z, block.y, slopes)
        slope(z.copy(), copy, slopes)
    block.weighted_sum(slopes)


def _asked_by(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield the sums that a query asks before it answers: those that it holds, and those that a
    part's ``dry_run_queries`` returns, a function as the sum that calls it; with a warning where it
    has these by the old name, ``rehearsed``."""
    for part in parts:
        yield part
        if old := getattr(part, "rehearsed", None):
            warn_caller(
                f"{type(part).__name__}.rehearsed is dry_run_queries now; the old name is good "
                "until the next version.",
                kind=FutureWarning,
            )
        yield from (
            _Loads(asked) if callable(asked) else asked
            for asked in getattr(part, "dry_run_queries", old or tuple)()
        )


def _sum_of(query: Any) -> Any:
    """Return the sum that is asked of a sample, or the query itself: of no rows, no sample."""
    return query.query if hasattr(query, "sampled_event") else query


def _stated_shape(query: Any) -> tuple[int, ...] | None:
    """Return the shape that a sum states of its answer, ``None`` for what is no sum; AnswerError
    where it starts from anything but int64."""
    whole = _sum_of(query)
    if not hasattr(whole, "answer_block"):
        return None
    start = whole.start()
    if getattr(start, "dtype", None) != np.int64:
        raise AnswerError(
            f"{type(whole).__name__}.start must return int64, not "
            f"{getattr(start, 'dtype', type(start).__name__)}."
        )
    return tuple(start.shape)


def load_now(load: Callable[[], Any]) -> None:
    """Call a function for the kernels or modules that it loads, and drop its result.

    Raises KernelError where one of them cannot be had, EngineError where the engine's processes are
    lost, AnswerError for an answer that is none; any other error is let pass.
    """
    try:
        load()
    except (AnswerError, EngineError, KernelError):  # of the engine, which said so itself
        raise
    except (ImportError, MemoryError) as error:
        raise _refusal(error) from error
    except Exception as error:
        if _kernels_in(error):
            raise _refusal(error) from error


def _kernels_in(error: Exception) -> list[Dispatcher]:
    """Return the kernels that were being loaded or compiled when the error came up."""
    held = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [kernel for kernel in held if isinstance(kernel, Dispatcher)]


def _refusal(error: Exception) -> KernelError:
    """Return what cannot be loaded: the dry run had no rows, so that the text can hold none."""
    what = f"{type(error).__name__}: {error}"
    for kernel in _kernels_in(error)[-1:]:
        cached = (
            f", cache {folder}: if it is damaged, delete its .nbi and .nbc files"
            if (folder := kernel.stats.cache_path)
            else ""
        )
        what += f" (kernel {kernel.py_func.__module__}.{kernel.py_func.__qualname__}{cached})"
    return KernelError(
        f"What the next release needs cannot be loaded, so that it was not charged: {what}."
    )
