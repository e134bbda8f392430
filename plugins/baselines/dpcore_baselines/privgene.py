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
from dpcore_baselines.genes import crossed, mutations
from dpcore_baselines.geometric_progression import geometric_progression
from dpcore_baselines.scores import ClippedLossScores

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem

__all__ = ["PrivGene"]

_PUBLIC_SEED = 2013
"""Of crossover and mutations. They are public: the guarantee holds for whatever they are."""
_LAST_OVER_FIRST = 0.1
_SLACK = 1 - 2.0**-40
"""Of each generation's share, so that they all fit: sums of shares are rounded up."""
_OF_A_CANDIDATE = 128.0
"""Bytes a column (``bench/memory.py``)."""


@dataclass(frozen=True, kw_only=True)
class PrivGene:
    """Fits a linear model by selection among random offspring of the best candidates so far.

    Every generation selects ``survivors`` of the candidates, one after the other; the next
    candidates are pairs of survivors that swap a part of their coordinates, and then move at
    random. The last generation selects the model.

    Privacy: every selection is one release of a selection mechanism on exact scores whose change
    has a range of ``loss_clip`` (add-or-remove-one) or ``2 loss_clip`` (replace-one), or less where
    the candidates are close (``ClippedLossScores``); generations have equal shares of the budget,
    and their number is fixed beforehand. Crossover and mutations do not look at rows.
    """

    generations: int | None = option(
        None, "rounds of selection", "rounds", "0.00125 n epsilon / survivors, from 8 to 200",
        range=(1, 10**5),
    )  # fmt: skip
    candidates: int = option(50, "of each generation", range=(2, 10**4))
    survivors: int = option(
        1, "selected in each generation but the last, without replacement", range=(1, 10**3)
    )
    keep: bool = option(True, "a survivor is a candidate again, as it is")
    genes: int | None = option(
        None, "coordinates that a mutation moves", "coordinates", "all", range=(1, 10**6)
    )
    step: float | None = option(
        None,
        "length of the first mutations",
        "norm of w",
        "8 / row_norm",
        range=(2.0**-20, 2.0**10),
    )
    resize: float | None = option(
        None,
        "factor on the length of mutations from one generation to the next",
        "1",
        "0.1^(1 / (generations - 1))",
        range=(2.0**-10, 1.0),
    )
    loss_clip: float = option(2.0, "bound of a row's loss", "loss", range=(2.0**-10, 2.0**20))
    enhanced: bool = option(
        False, "less noise where candidates are close: the enhanced exponential mechanism"
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "privgene"
    accountant: ClassVar[str] = "zcdp"
    slots: ClassVar[dict[str, Slot]] = {
        "selection": Slot(("exponential", "permute-and-flip", "report-noisy-max"), takes=("range",))
    }
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    for_units: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "McSherry & Talwar 2007 (exponential mechanism), of bounded range (Dong, Durfee & Rogers "
        "2020), range^2/8 in zCDP (Cesar & Rogers 2021); the range from the candidates' distances "
        "(Zhang et al. 2013, enhanced exponential mechanism)"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "one survivor of each generation, which stays a candidate: no crossover (survivors, keep)",
        "mutations move all coordinates (genes); losses are clipped; equal shares of a zCDP budget",
        "the plain exponential mechanism, with a range that is the clip (enhanced)",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "candidates": 200,
            "survivors": 10,
            "keep": False,
            "genes": 1,
            "step": 0.5,
            "resize": 0.95,
            "loss_clip": 16.0,
            "enhanced": True,
            "selection": "exponential",
            "accountant": "pure",
        }
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "candidates": "m of Algorithm 1, as Su et al., CODASPY 2016, ran it",
            "survivors": "m' of Algorithm 1, as Su et al., CODASPY 2016, ran it",
            "keep": "privgene.py of Lee & Kifer's code: mutants alone are candidates",
            "genes": "privgene.py of Lee & Kifer's code",
            "step": "privgene.py of Lee & Kifer's code: mut_scale",
            "resize": "privgene.py of Lee & Kifer's code: mut_resize",
            "loss_clip": "not of the paper, whose losses have no bound",
            "enhanced": "Zhang et al. 2013, the enhanced exponential mechanism",
            "selection": "Zhang et al. 2013, the exponential mechanism",
            "accountant": "Zhang et al. 2013: pure epsilon",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.survivors >= self.candidates:
            raise InvalidInputError(
                f"Expected survivors={self.survivors} below candidates={self.candidates}."
            )

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        count = self._generations(problem, session.accountant)
        share = session.accountant.remaining / count * _SLACK
        each, last = (self._mechanism(session.accountant, share / n) for n in (self.survivors, 1))
        rng = np.random.default_rng(_PUBLIC_SEED)
        lengths = self._lengths(problem, count)
        parents = np.zeros((1, problem.n_features))
        for length in lengths[:-1]:
            candidates = self._born(parents, length, rng)
            parents = self._select(problem, session, candidates, [each] * self.survivors)
        candidates = self._born(parents, lengths[-1], rng)
        w = self._select(problem, session, candidates, [last])[0]
        details: dict[str, Any] = {"generations": count}
        if problem.l2 > 0 and problem.n_public is None:
            details["warning"] = "l2 is of a mean, and no public number of rows is known: left out."
        return Solution(w.copy(), "All generations were selected.", details)

    def memory(self, problem: Problem) -> float:
        """Return the bytes of the candidates, and of copies of them."""
        return _OF_A_CANDIDATE * self.candidates * problem.n_features

    def _born(self, parents: np.ndarray, length: float, rng: np.random.Generator) -> np.ndarray:
        """Return the next candidates."""
        born = crossed(parents, self.candidates, rng)
        moves = mutations(born.shape, self.genes, length, rng)
        if self.keep:
            born[: len(parents)] = parents
            moves[: len(parents)] = 0.0
        return born + moves

    def _select(
        self,
        problem: Problem,
        session: PrivacySession,
        candidates: np.ndarray,
        mechanisms: list[Any],
    ) -> np.ndarray:
        """Return what each mechanism selects among the candidates that are left."""
        selected = []
        for mechanism in mechanisms:
            query = ClippedLossScores(problem, candidates, self.loss_clip, self.enhanced)
            index = session.release(query, mechanism)
            selected.append(query.candidates[index])
            candidates = np.delete(candidates, index, axis=0)
        return np.array(selected)

    def _lengths(self, problem: Problem, count: int) -> np.ndarray:
        """Return the length of each generation's mutations."""
        step = 8.0 / problem.row_norm if self.step is None else self.step
        if self.resize is None:
            return step * geometric_progression(1.0, _LAST_OVER_FIRST, count)
        return np.array([step * self.resize**k for k in range(count)])

    def _generations(self, problem: Problem, accountant: Accountant) -> int:
        if self.generations is not None:
            return self.generations
        signal = 0.00125 * (problem.n_public or 0) * min(accountant.epsilon, 1e6)
        return round(min(200.0, max(8.0, signal / self.survivors)))

    def _mechanism(self, accountant: Accountant, share: float) -> Any:
        """Return the selection mechanism whose release costs that share of the budget."""
        mechanism = mechanism_in(self, "selection", accountant)
        if not share > 0:
            raise InvalidInputError("The budget is too small for one release. Raise epsilon.")
        return mechanism(noise_multiplier(accountant, mechanism.nominal_event, share))
