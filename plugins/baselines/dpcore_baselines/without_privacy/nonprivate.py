"""The best and the least that a model can do, without privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dpcore.plugin import Slot, Solution
from dpcore_baselines.without_privacy.exact import Exact, ExactFit, MajorityModel

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["Majority", "NonPrivate"]

_BOTH = ("add-or-remove-one", "replace-one")


@dataclass(frozen=True, kw_only=True)
class NonPrivate:
    """Fits a linear model to the exact rows, by SciPy's L-BFGS-B. NOT PRIVATE.

    Its one answer has no noise and only the accountant ``none`` holds it, which guarantees nothing:
    every statement and file of such a run says so.
    """

    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "nonprivate"
    private: ClassVar[bool] = False
    accountant: ClassVar[str] = "none"
    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = _BOTH
    multiclass: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    theorem: ClassVar[str] = "none: exact answers, NOT PRIVATE"

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        w = session.release(ExactFit(problem), Exact())
        return Solution(w, "The exact minimiser, without noise.")


@dataclass(frozen=True, kw_only=True)
class Majority:
    """Gives every row the commonest label of the rows, exactly. NOT PRIVATE, as ``nonprivate``."""

    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "majority"
    private: ClassVar[bool] = False
    accountant: ClassVar[str] = "none"
    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = _BOTH
    multiclass: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("classification", "fixed-schedule")
    theorem: ClassVar[str] = "none: exact answers, NOT PRIVATE"

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        w = session.release(MajorityModel(problem), Exact())
        if w.any():
            return Solution(w, "The commoner class, always.")
        return Solution(w, "The negative class, always: rows without an intercept know no other.")
