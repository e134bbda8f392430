"""AdaSSP: ridge from noisy sufficient statistics, its penalty chosen by a released eigenvalue."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import Slot, Solution, check_ranges, option, round_parameters
from dpcore_adassp.products import Products, unpacked
from dpcore_adassp.row_map import RowMap
from dpcore_adassp.shares import noise_of, penalty_rows, require_several
from dpcore_adassp.smallest_eigenvalue import SmallestEigenvalue

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["AdaSsp"]

_COUNT_SHARE = Fraction(1, 50)


@dataclass(frozen=True, kw_only=True)
class AdaSsp:
    """Fits a ridge regression from three releases of a third of the budget each: the smallest
    eigenvalue of X'X, X'X and X'y (Wang 2018, Algorithm 2).

    The penalty is what the matrix's noise needs beyond the eigenvalue, at the paper's bounds: 0
    where the rows are many, and as large as the noise where they are few.

    Privacy: Gaussian mechanisms whose mu^2 add up (Dong, Roth & Su 2022, Corollary 3.3), turned
    into (epsilon, delta) exactly (Balle & Wang 2018, Theorem 8). The l2 sensitivities, for rows of
    length R and targets of size 1: R^2 of the eigenvalue (Weyl) under both relations, R^2 of the
    matrix (sqrt(2) R^2 under replace-one), R of the vector (2 R): proved at ``SmallestEigenvalue``
    and ``Products``. Other noise of an l2 bound is charged by its own event.
    """

    failure: float = option(
        0.05,
        "chance that the noise is beyond the penalty, rho of the paper",
        "1",
        range=(0, 1, "()"),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "adassp"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("squared-loss",)
    theorem: ClassVar[str] = (
        "composition of Gaussian mechanisms: Dong, Roth & Su 2022, Corollary 3.3; sensitivities of "
        "Wang 2018, Algorithm 2"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "normal noise of exact Gaussian composition in place of (epsilon/3, delta/3) each",
        "replace-one with its own constants; the paper has the other relation",
        "off-diagonal products count 45/32 times, and are divided by it once they are released",
        "the eigenvalue's error in float64 is charged with it",
        "directions in which the noisy matrix with its penalty is not above a hundredth of the "
        "noise get no coefficient; the paper has a chance of failure there",
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        require_several(self, session)
        rows, length = RowMap(problem.n_features, problem.intercept), problem.row_norm
        squares = Products(problem, rows, length, part="squares")
        targets = Products(problem, rows, length, part="targets")
        queries: list[Any] = [SmallestEigenvalue(squares), squares, targets]
        noise = noise_of(self, session, (1 - _COUNT_SHARE) / 3)
        for query in queries:  # before anything is spent
            noise.event(query.sensitivity(problem.relation))
        penalty = penalty_rows(self, problem, session, _COUNT_SHARE) / length**2
        answers = []
        for left, query in zip((3, 2, 1), queries, strict=True):
            noise = noise_of(self, session, Fraction(1, left))
            deviation = noise.noise_multiplier * query.sensitivity(problem.relation).bound
            answers.append((session.release(query, noise), deviation))
        (smallest, spread), (packed, sigma), (vector, _) = answers
        added = self._added(float(smallest[0]), spread, sigma, problem.n_features, session)
        matrix = unpacked(packed, problem.n_features)
        w = _solved(matrix, vector, added + penalty, sigma / 100) / length
        details: dict[str, Any] = {"penalty": added + penalty}
        return Solution(
            w=round_parameters(w, problem.raw_norm_bound),
            status="All three releases were made.",
            details=details,
        )

    def _added(
        self, smallest: float, spread: float, sigma: float, width: int, session: PrivacySession
    ) -> float:
        """Return lambda of the paper: the matrix's noise, less a lower bound of the eigenvalue."""
        delta = session.accountant.delta or 1e-6
        certain = max(0.0, smallest - spread * math.sqrt(math.log(6 / delta)))
        noise = sigma * math.sqrt(width * math.log(2 * width**2 / self.failure))
        return max(0.0, noise - certain)


def _solved(matrix: np.ndarray, vector: np.ndarray, penalty: float, least: float) -> np.ndarray:
    """Return the solution of (matrix + penalty) w = vector in the directions of an eigenvalue of
    ``least`` or more, float64."""
    values, vectors = np.linalg.eigh(matrix)
    values = values + penalty
    kept = values >= least
    inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    return np.asarray(vectors @ (inverse * (vectors.T @ vector)))
