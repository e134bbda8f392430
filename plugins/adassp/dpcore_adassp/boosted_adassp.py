"""Boosted AdaSSP: ridge solutions of clipped residuals, summed up; the matrix is released once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    InvalidInputError,
    Problem,
    Slot,
    Solution,
    check_ranges,
    option,
    round_parameters,
    round_to,
)
from dpcore_adassp.adassp import COUNT_SHARE
from dpcore_adassp.budget_split import (
    bytes_of_products,
    deviation_of,
    noise_of,
    penalty_rows,
    require_room,
    require_several,
)
from dpcore_adassp.penalty import Penalised, added_penalty
from dpcore_adassp.products import LARGEST_COEFFICIENT, Products, unpacked
from dpcore_adassp.row_map import RowMap
from dpcore_adassp.smallest_eigenvalue import SmallestEigenvalue

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession

__all__ = ["BoostedAdaSsp"]


@dataclass(frozen=True, kw_only=True)
class BoostedAdaSsp:
    """Fits a ridge regression by gradient boosting with AdaSSP (Tang et al. 2023, Algorithm 1).

    The smallest eigenvalue of X'X and X'X are released once. Then follow ``rounds`` sums of clipped
    residuals times rows, each at the coefficients found so far; the solution of each, with AdaSSP's
    penalty, is added to them. Rounds undo a part of what the penalty and the clip take away.

    Privacy: Gaussian mechanisms whose mu^2 add up (Dong, Roth & Su 2022, Corollary 3.3; queries
    that follow from earlier outcomes: Smith & Thakurta 2022), turned into (epsilon, delta) exactly
    (Balle & Wang 2018, Theorem 8). The l2 sensitivities, add-or-remove-one and replace-one, of rows
    held to length 1 and residuals held to ``clip`` and measured in it: 1 and 1 of the eigenvalue
    (Weyl), 1 and sqrt(2) of the matrix, 1 and 2 of a sum of residuals, whatever the coefficients
    are: proved at ``SmallestEigenvalue`` and ``Products``. Other noise of an l2 bound is charged by
    its own event.
    """

    rounds: int = option(4, "sums of residuals, each of an equal share", "rounds", range=(1, 1000))
    clip: float = option(
        0.5, "size to which residuals are held", "bound of targets", range=(2.0**-10, 2.0)
    )
    eigenvalue_share: float = option(
        0.1, "share of the budget for the smallest eigenvalue", "1", range=(0, 1, "()")
    )
    squares_share: float = option(0.3, "share of the budget for X'X", "1", range=(0, 1, "()"))
    failure: float = option(
        0.05, "chance that the noise is beyond the penalty, rho of AdaSSP", "1", range=(0, 1, "()")
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "boosted-adassp"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("squared-loss",)
    theorem: ClassVar[str] = (
        "composition of Gaussian mechanisms: Dong, Roth & Su 2022, Corollary 3.3, fully adaptive: "
        "Smith & Thakurta 2022; sensitivities of Wang 2018, Algorithm 2"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "few rounds, residuals held to half of the targets' bound, and most of the budget for "
        "them: 100, the bound itself and a third for each kind of release in the paper (preset "
        "paper)",
        "replace-one with its own constants; the paper has the other relation",
        "off-diagonal products count 45/32 times, and are divided by it once they are released",
        "the eigenvalue's error in float64 is charged with it",
        "directions in which the noisy matrix with its penalty is not above a hundredth of the "
        "noise get no coefficient; the paper has a chance of failure there",
        "an l2 of one's own is part of the matrix and of every residual sum; the paper has none",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "rounds": 100,
            "clip": 1.0,
            "eigenvalue_share": 1 / 3,
            "squares_share": 1 / 3,
            "failure": 0.05,
        }
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "rounds": "default of the authors' code",
            "clip": "default of the authors' code, the bound of targets too",
            **dict.fromkeys(
                ("eigenvalue_share", "squares_share"),
                "AdaSSP's third of mu^2, as others who wrote Algorithm 1 anew read it; the "
                "authors' code has one multiplier for 102 releases",
            ),
            "failure": "rho of AdaSSP (Wang 2018, Algorithm 2)",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.eigenvalue_share + self.squares_share >= 1:
            raise InvalidInputError(
                f"Expected eigenvalue_share={self.eigenvalue_share!r} and "
                f"squares_share={self.squares_share!r} to leave a share for residuals."
            )

    def memory(self, problem: Problem) -> float:
        """Return the bytes of the products of all pairs of columns, with the rows that they are
        taken of."""
        return bytes_of_products(problem)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        require_several(self, session)
        rows, length = RowMap(problem.n_features, problem.intercept), problem.row_norm
        squares = Products(problem, rows, length)
        residuals = replace(squares, part="targets", clip=self.clip)
        eigenvalue = SmallestEigenvalue(squares)
        self._refuse_hopeless(eigenvalue, squares, residuals, session)
        penalty = penalty_rows(self, problem, session, COUNT_SHARE) / length**2
        smallest, spread = self._released(eigenvalue, self.eigenvalue_share, problem, session)
        left = self.squares_share / (1 - self.eigenvalue_share)
        packed, sigma = self._released(squares, left, problem, session)
        delta = session.accountant.delta or 1e-6
        width = problem.n_features
        added = added_penalty(float(smallest[0]), spread, sigma, width, self.failure, delta)
        ridge = Penalised.of(unpacked(packed, width), added + penalty, sigma / 100)
        w = np.zeros(width)
        for step in range(self.rounds):
            asked = replace(residuals, at=w)
            sums, _ = self._released(asked, Fraction(1, self.rounds - step), problem, session)
            # Rounded, so that what LAPACK's order of adding changes is not asked at.
            w = round_to(w + ridge.solve(self.clip * sums - penalty * w), Problem.PARAMETER_BITS)
            w = np.clip(w, -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
        details: dict[str, Any] = {"penalty": added + penalty}
        return Solution(
            w=round_parameters(w / length, problem.raw_norm_bound),
            status="All planned releases were made.",
            details=details,
        )

    def _released(
        self, query: Any, share: float | Fraction, problem: Problem, session: PrivacySession
    ) -> tuple[np.ndarray, float]:
        """Return a noisy answer for this share of what is left, and the deviation of its noise."""
        mechanism = noise_of(self, session, share)
        return session.release(query, mechanism), deviation_of(mechanism, query, problem)

    def _refuse_hopeless(
        self, eigenvalue: Any, squares: Any, residuals: Any, session: PrivacySession
    ) -> None:
        """Raise InvalidInputError if the noise of any share does not fit the grid."""
        last = (1 - self.eigenvalue_share - self.squares_share) / self.rounds
        shares = (self.eigenvalue_share, self.squares_share, last)
        for query, share in zip((eigenvalue, squares, residuals), shares, strict=True):
            mechanism = noise_of(self, session, share * float(1 - COUNT_SHARE))
            require_room(mechanism, query, squares.problem)
