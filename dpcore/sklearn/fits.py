"""The private fits of this process: the second one warns, since their budgets add up.

A clone knows neither the search nor the pipeline that made it, so the count is of the process, on
whatever rows; it forgets with the process, and each worker of a search has its own.
"""

from __future__ import annotations

import threading
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import DpcoreWarning
from dpcore.exact.rounding import exact, float_up

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["Fits", "FITS"]


class Fits:
    """A count of fits, and the sums of their budgets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count, self._not_private = 0, 0
        self._epsilon, self._delta = Fraction(0), Fraction(0)
        self._relations: set[str] = set()

    def add(self, model: Model) -> None:
        """Count a fit, and warn if it is the second."""
        with self._lock:
            privacy = model.privacy
            self._count += 1
            self._not_private += not privacy["private"]
            if privacy["private"]:
                self._epsilon += Fraction(privacy["epsilon"])
                self._delta += Fraction(privacy["delta"])
                self._relations.add(privacy["neighboring_relation"])
            is_second, message = self._count == 2, self._message()
        if is_second:
            warnings.warn(message, DpcoreWarning, stacklevel=3)

    def _message(self) -> str:
        spent = "none of them is private"
        if self._relations:
            spent = (
                f"together they spent epsilon = {exact(float_up(self._epsilon))} and delta = "
                f"{exact(float_up(self._delta))} under {' and '.join(sorted(self._relations))}"
            )
        if self._relations and self._not_private:
            spent += f", and {self._not_private} of them is not private at all"
        return (
            f"{self._count} fits in this process: {spent}. For rows that were in several fits, "
            "budgets add up, folds and searches included; further fits are not warned of."
        )


FITS = Fits()
