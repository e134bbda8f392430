"""AdaSSP: ridge from noisy sufficient statistics, its penalty chosen by a released eigenvalue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import Slot, Solution, check_ranges, option, round_parameters
from dpcore_adassp.budget_split import (
    bytes_of_products,
    noise_of,
    penalty_rows,
    require_room,
    require_several,
)
from dpcore_adassp.penalty import Penalised, added_penalty
from dpcore_adassp.products import Products, unpacked
from dpcore_adassp.row_map import RowMap
from dpcore_adassp.smallest_eigenvalue import SmallestEigenvalue

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["COUNT_SHARE", "AdaSsp"]

COUNT_SHARE = Fraction(1, 50)
"""Of the budget, for counting rows where a regulariser needs their number and it is not public."""


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

    def memory(self, problem: Problem) -> float:
        """Return the bytes of the products of all pairs of columns, with the rows that they are
        taken of."""
        return bytes_of_products(problem)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        require_several(self, session)
        rows, length = RowMap(problem.n_features, problem.intercept), problem.row_norm
        squares = Products(problem, rows, length, part="squares")
        targets = Products(problem, rows, length, part="targets")
        queries: list[Any] = [SmallestEigenvalue(squares), squares, targets]
        noise = noise_of(self, session, (1 - COUNT_SHARE) / 3)
        for query in queries:
            require_room(noise, query, problem)
        penalty = penalty_rows(self, problem, session, COUNT_SHARE) / length**2
        answers = []
        for left, query in zip((3, 2, 1), queries, strict=True):
            noise = noise_of(self, session, Fraction(1, left))
            deviation = noise.noise_multiplier * query.sensitivity(problem.relation).bound
            answers.append((session.release(query, noise), deviation))
        (smallest, spread), (packed, sigma), (vector, _) = answers
        delta, width = session.accountant.delta or 1e-6, problem.n_features
        added = added_penalty(float(smallest[0]), spread, sigma, width, self.failure, delta)
        ridge = Penalised.of(unpacked(packed, width), added + penalty, sigma / 100)
        w = ridge.solve(vector) / length
        details: dict[str, Any] = {"penalty": added + penalty}
        return Solution(
            w=round_parameters(w, problem.raw_norm_bound),
            status="All three releases were made.",
            details=details,
        )
