"""The fits that a process asked for: the second one warns, since their budgets add up.

Counted are calls of ``dpcore.fit``, those of estimators among them: a clone knows neither the
search nor the pipeline that made it, so the count is of the process, on whatever rows. It forgets
with the process, and each worker of a search has its own. Not counted are the fits of
``dpcore compare``, which states what each of them was charged, and the one of ``dpcore train``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import warn_caller
from dpcore.exact.rounding import exact, float_up
from dpcore.privacy.unit_of_privacy import protected
from dpcore.session.charges import Bound, charged_by

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["Fits", "FITS"]


class Fits:
    """A count of fits, and the sums of their budgets: a sum for each relation and unit of
    protection, since budgets under one say nothing of what was spent under another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = self._not_private = self._broken = 0
        self._has_warned = False
        self._sums: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}

    def add(self, model: Model) -> None:
        """Count a fit, and warn, once, if there was one before."""
        privacy = model.privacy
        bound = Bound(
            privacy["epsilon"],
            privacy["delta"],
            privacy["neighboring_relation"],
            protected(model.schema.units),
            privacy["private"],
        )
        with self._lock:
            self._count_in(bound)
            warns, self._has_warned = self._count > 1 and not self._has_warned, self._count > 1
            message = self._message()
        if warns:
            warn_caller(message)

    @contextmanager
    def with_those_that_break(self) -> Iterator[None]:
        """Count a fit in the block that breaks after a charge, at its whole budget: the next fit
        warns of it, and the error says what was charged."""
        try:
            yield
        except BaseException as error:
            bound = charged_by(error)
            if bound is not None:
                with self._lock:
                    self._broken += 1
                    self._count_in(bound)
            raise

    def _count_in(self, bound: Bound) -> None:
        self._count += 1
        self._not_private += not bound.private
        if bound.private:
            kind = bound.relation, bound.protected
            epsilon, delta = self._sums.get(kind, (Fraction(0), Fraction(0)))
            self._sums[kind] = epsilon + Fraction(bound.epsilon), delta + Fraction(bound.delta)

    def _message(self) -> str:
        spent = "none of them is private"
        if self._sums:
            spent = f"together they spent {', and '.join(map(self._sum_of, sorted(self._sums)))}"
        if len(self._sums) > 1:
            spent += " (guarantees of several kinds have no common sum)"
        if self._sums and self._not_private:
            spent += f", and {self._not_private} of them is not private at all"
        broken = f" ({self._broken} broke off, and counts in full)" if self._broken else ""
        return (
            f"{self._count} fits in this process{broken}: {spent}. For rows that were in several "
            "fits, budgets add up, folds and searches included; further fits are not warned of."
        )

    def _sum_of(self, kind: tuple[str, str]) -> str:
        epsilon, delta = (exact(float_up(value)) for value in self._sums[kind])
        return f"epsilon = {epsilon} and delta = {delta} under {' of '.join(kind)}"


FITS = Fits()
