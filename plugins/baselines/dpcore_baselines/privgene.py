"""PrivGene (Zhang, Xiao, Yang, Zhang & Winslett, SIGMOD 2013)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    InvalidInputError,
    Slot,
    Solution,
    check_ranges,
    mechanism_in,
    noise_multiplier,
    option,
)
from dpcore_baselines.scores import ClippedLossScores

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem

__all__ = ["PrivGene"]

_PUBLIC_SEED = 2013
"""Of the mutations. They are public: the guarantee holds for whatever they are."""
_SLACK = 1 - 2.0**-40
"""Of each generation's share, so that they all fit: sums of shares are rounded up."""


@dataclass(frozen=True, kw_only=True)
class PrivGene:
    """Fits a linear model by selection among random mutations of the best candidate so far.

    Privacy: every generation is one release of a selection mechanism on exact scores whose change
    has a range of ``loss_clip`` (add-or-remove-one) or ``2 loss_clip`` (replace-one); all have an
    equal share of the budget, and their number is fixed beforehand. Mutations do not look at rows.
    """

    generations: int | None = option(
        None, "selections", "selections", "0.00125 n epsilon, from 8 to 200", range=(1, 10**5)
    )
    candidates: int = option(
        50, "of each generation, the best one so far included", range=(2, 10**4)
    )
    step: float = option(
        8.0, "length of the first mutations", "1 / row_norm", range=(2.0**-20, 2.0**10)
    )
    decay: float = option(
        0.1, "length of the last mutations over that of the first", "1", range=(2.0**-20, 1.0)
    )
    loss_clip: float = option(2.0, "bound of a row's loss", "loss", range=(2.0**-10, 2.0**20))
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "privgene"
    accountant: ClassVar[str] = "zcdp"
    slots: ClassVar[dict[str, Slot]] = {
        "selection": Slot(("exponential", "permute-and-flip", "report-noisy-max"), takes=("range",))
    }
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    theorem: ClassVar[str] = (
        "McSherry & Talwar 2007 (exponential mechanism), of bounded range (Dong, Durfee & Rogers "
        "2020), range^2/8 in zCDP (Cesar & Rogers 2021)"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "the plain exponential mechanism; the paper's enhanced one is left out: its proof was not "
        "checked",
        "one survivor of each generation, which stays a candidate, so no crossover",
        "mutations move all coordinates; generations have equal shares of a zCDP budget",
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        count = self._generations(problem, session.accountant)
        mechanism = self._mechanism(session.accountant, count)
        rng = np.random.default_rng(_PUBLIC_SEED)
        w = np.zeros(problem.n_features)
        for length in self.step / problem.row_norm * np.geomspace(1.0, self.decay, count):
            moves = rng.normal(size=(self.candidates, problem.n_features))
            moves *= length / np.linalg.norm(moves, axis=1, keepdims=True)
            moves[0] = 0.0
            query = ClippedLossScores(problem, w + moves, self.loss_clip)
            w = query.candidates[session.release(query, mechanism)]
        details: dict[str, Any] = {"generations": count}
        if problem.l2 > 0 and problem.n_public is None:
            details["warning"] = "l2 is of a mean, and no public number of rows is known: left out."
        return Solution(w.copy(), "All generations were selected.", details)

    def _generations(self, problem: Problem, accountant: Accountant) -> int:
        if self.generations is not None:
            return self.generations
        signal = 0.00125 * (problem.n_public or 0) * min(accountant.epsilon, 1e6)
        return round(min(200.0, max(8.0, signal)))

    def _mechanism(self, accountant: Accountant, count: int) -> Any:
        """Return the selection mechanism at an equal share of the budget."""
        mechanism = mechanism_in(self, "selection", accountant)
        share = accountant.remaining / count * _SLACK
        if not share > 0:
            raise InvalidInputError("The budget is too small for one release. Raise epsilon.")
        return mechanism(noise_multiplier(accountant, mechanism.nominal_event, share))
