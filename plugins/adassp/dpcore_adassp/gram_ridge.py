"""Ridge from noisy sums of products of rows held to a released length, shrunk by Bayes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dpcore.plugin import Slot, Solution, check_ranges, option, round_parameters
from dpcore_adassp.lengths import RowLengths, length_within
from dpcore_adassp.products import Products, unpacked
from dpcore_adassp.row_map import RowMap
from dpcore_adassp.shares import noise_of, require_several
from dpcore_adassp.shrinkage import posterior_mean

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["GramRidge"]

_TELLING = 50
"""Rows over the deviation of their counts from which on these say more than a guess."""
_ABOVE = 20
"""How far the products of rows of middle length are to be above the noise, about."""


@dataclass(frozen=True, kw_only=True)
class GramRidge:
    """Fits a ridge regression from two releases, whatever the number of rows.

    First the rows are counted by their length, as images of a public map that takes the middle off
    columns between bounds. The length that most of them are within is the unit of the second
    release: X'X and X'y together, longer rows weighing less. Coefficients are the mean of a
    posterior that knows the noise: 0 where noise drowns the rows, least squares where it does not.

    Privacy: Gaussian mechanisms whose mu^2 add up (Dong, Roth & Su 2022, Corollary 3.3; the second
    query follows from the first's outcome: Smith & Thakurta 2022), turned into (epsilon, delta)
    exactly (Balle & Wang 2018, Theorem 8). The l2 sensitivities are proved at ``RowLengths`` (1;
    sqrt(2) under replace-one) and ``Products`` (sqrt(2); 2.12). Other noise of an l2 bound is
    charged by its own event.
    """

    lengths_share: float = option(
        0.02, "share of the budget for counting rows by their length", "1", range=(0, 0.5, "()")
    )
    longer: float = option(
        0.1, "share of the rows that may be longer than the unit", "1", range=(0, 1, "()")
    )
    intercept_weight: float = option(
        0.35, "length of the intercept's column over that of the rows", "1", range=(0, 1, "(]")
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "gram-ridge"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("squared-loss",)
    theorem: ClassVar[str] = (
        "composition of Gaussian mechanisms: Dong, Roth & Su 2022, Corollary 3.3, fully adaptive: "
        "Smith & Thakurta 2022"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "no release of the smallest eigenvalue, and no penalty: the posterior follows the spectrum "
        "of the released matrix",
        "off-diagonal products count 45/32 times, and are divided by it once they are released",
        "rows are mapped and scaled before their products are taken",
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        require_several(self, session)
        row_map = RowMap.of(problem, self.intercept_weight)
        lengths = RowLengths(problem, row_map)
        self._refuse_hopeless(problem, row_map, lengths, session)
        mechanism = noise_of(self, session, self.lengths_share)
        counts = session.release(lengths, mechanism)
        deviation = mechanism.noise_multiplier * lengths.sensitivity(problem.relation).bound
        n = float(problem.n_public or max(1.0, counts.sum()))
        length, unit = row_map.usual(problem.row_norm) / 2, row_map.usual(problem.row_norm)
        mechanism = noise_of(self, session, 1)
        if n > _TELLING * deviation:
            noise = mechanism.noise_multiplier * math.sqrt(2 * problem.n_features)
            # As long as leaves the middle rows' products well above the noise.
            room = math.sqrt(n / (_ABOVE * noise))
            half, most, all_rows = (
                length_within(lengths.edges, counts, n, share, deviation)
                for share in (0.5, self.longer, 0.0)
            )
            length = unit = min(all_rows, max(most, half * room))
        query = Products(problem, row_map, length, unit / length)
        matrix, vector = unpacked(session.release(query, mechanism), problem.n_features)
        if problem.l2:
            matrix += n * problem.l2 / length**2 * row_map.squares()
        sigma = mechanism.noise_multiplier * query.sensitivity(problem.relation).bound
        w = row_map.pull_back(posterior_mean(matrix, vector, sigma, sigma) / unit)
        details = {"length": length, "rows": n, "centred": row_map.centred}
        return Solution(
            w=round_parameters(w, problem.raw_norm_bound),
            status="All planned releases were made.",
            details=details,
        )

    def _refuse_hopeless(
        self, problem: Problem, row_map: RowMap, lengths: RowLengths, session: PrivacySession
    ) -> None:
        """Raise InvalidInputError if the noise of either share does not fit the grid."""
        noise_of(self, session, self.lengths_share).event(lengths.sensitivity(problem.relation))
        query = Products(problem, row_map, 1.0)
        noise_of(self, session, 1 - self.lengths_share).event(query.sensitivity(problem.relation))
