"""Ridge from a noisy matrix of products, and noisy residuals at points that it leads to."""

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
    ordered_dot,
    round_parameters,
    round_to,
)
from dpcore_adassp.budget_split import (
    bytes_of_products,
    deviation_of,
    noise_of,
    require_room,
    require_several,
)
from dpcore_adassp.pilot_releases import (
    AGAIN_SHARE,
    PilotRelease,
    pilot_release,
    pilot_releases,
    spreads_asked,
)
from dpcore_adassp.products import LARGEST_COEFFICIENT, Products, unpacked
from dpcore_adassp.row_map import MOST_COLUMNS
from dpcore_adassp.shrinkage import Posterior, scales_between, wiener
from dpcore_adassp.wide import WIDE_SHARE, mean_alone, require_room_to_look, wide_look
from dpcore_baselines.dp_gd import DpGd

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession

__all__ = ["GramRidge"]

_NO_CURVES = (
    "gram-ridge fits lines, and numbers of the schema have knots beside their bounds: leave the "
    "knots out, or take the algorithm dp-gd, which fits curves where there are thousands of rows."
)
_LOOSEST, _WIDEST = 2.0**-4, 2.0**3
"""Scales of a coefficient over the size of the targets: the smallest and the largest."""


@dataclass(frozen=True, kw_only=True)
class GramRidge:
    """Fits a ridge regression whatever the number of rows: where they are few, the mean.

    Two looks at the table, 3 % of the budget each: how many rows there are, the level of their
    targets and the means of columns between bounds; then how long rows are and how far targets are
    from that level. Where these show no signal surely, the level is asked again, for 35 % of what
    is left. The means are taken off where they are sure, and rows are held to a length.

    Where public facts name numbers between bounds and the released number of rows is enough (u =
    n mu / sqrt(columns) of 16, up to 64 columns), a look, 3 % of what is left, tells the spreads of
    the numbers, one before it the means of columns where not all are numbers, and columns are
    scaled by them. X'X is released twice then, for half of its share
    each: of the scaled rows, and of these turned so that their products are about even in all
    directions. Else it is released once.

    Then the sum of clipped residuals times rows is released ``steps`` times, each at the
    coefficients that are likely by then. Residuals are smaller than targets, so that they need less
    noise, and the nearer a point is to the solution the less the noise in X'X does.
    Coefficients are the mean of a posterior that knows all noise. On tables of more than ``widest``
    columns a look of 1 % of the budget comes first, and where the signal is large all that is left
    goes to ``dp-gd``, whose noise grows with the root of their number instead (``wide``).

    Privacy: Gaussian mechanisms whose mu^2 add up (Dong, Roth & Su 2022, Corollary 3.3; queries
    that follow from earlier outcomes: Smith & Thakurta 2022), turned into (epsilon, delta) exactly
    (Balle & Wang 2018, Theorem 8). The l2 sensitivities, add-or-remove-one and replace-one, are
    proved at ``Level`` (2, 3; with squares 2, sqrt(6)), ``RowSizes`` (sqrt(2), sqrt(3)),
    ``Spreads`` (1, sqrt(2)) and ``Products`` (X'X: 1, sqrt(2); residuals: 1, 2). Units of k rows
    move each sum by k or 2 k times as much as one row more. Other noise of an l2 bound is charged
    by its own event.
    """

    looks_share: float = option(
        0.06, "share of the budget for both looks at the table", "1", range=(0, 0.5, "()")
    )
    spreads_share: float = option(
        0.03,
        "share of what is left after the first look for the spreads of numbers, and as much for "
        "the columns' means where not all are numbers; 0: columns as they are, and X'X once",
        "1",
        range=(0, 0.5, "[)"),
    )
    squares_share: float = option(0.3, "share of what is left for X'X", "1", range=(0, 1, "()"))
    steps: int = option(12, "sums of residuals, each of an equal share", "steps", range=(1, 1000))
    widest: int = option(
        64,
        "columns up to which their products are taken whatever the signal",
        "columns",
        range=(1, 2**11),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "gram-ridge"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("squared-loss",)
    for_units: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "composition of Gaussian mechanisms: Dong, Roth & Su 2022, Corollary 3.3, fully adaptive: "
        "Smith & Thakurta 2022"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "no release of the smallest eigenvalue, and no penalty: the posterior follows the spectrum "
        "of the released matrix",
        "off-diagonal products count 45/32 times, and are divided by it once they are released",
        "rows are mapped and scaled before their products are taken; where columns are numbers "
        "these are scaled by released spreads, and rows turned by a first release of X'X",
        "X'y is released in parts, of clipped residuals at points that follow from earlier ones",
        "of many columns a charged look chooses between this, dp-gd and the mean",
        "a level of the targets is released first, and again where no signal is sure",
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    def memory(self, problem: Problem) -> float:
        """Return the bytes of the products of all pairs of columns, with the rows that they are
        taken of."""
        return bytes_of_products(problem)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        require_several(self, session)
        if problem.curves:
            raise InvalidInputError(_NO_CURVES)
        if problem.n_features <= MOST_COLUMNS:
            self._refuse_hopeless(problem, session)
        if problem.n_features <= self.widest:
            return self._by_products(problem, session)
        descent = DpGd(use=self.use)
        descent.refuse_hopeless(problem, session, 1 - WIDE_SHARE)  # too late after the look
        require_room_to_look(self, problem, session)
        choice = wide_look(self, problem, session).choose(problem)
        if choice == "mean":
            return mean_alone(self, problem, session, "The columns are too many for the budget.")
        if choice == "products":
            return self._by_products(problem, session)
        solution = descent.minimize(problem, session)
        return replace(solution, details={**solution.details, "ran": DpGd.name})

    def _by_products(self, problem: Problem, session: PrivacySession) -> Solution:
        seen = pilot_release(self, self.looks_share, problem, session)
        if seen.skewed:
            return mean_alone(self, problem, session, "The target is too skewed for the budget.")
        query = Products(problem, seen.row_map, seen.length, seen.unit / seen.length)
        parts = 2 if seen.row_map.is_scaled else 1
        matrix, left, deviation = self._matrix(query, session, self.squares_share / parts)
        if parts == 2:
            seen = seen.turned(matrix, deviation)
            query = Products(problem, seen.row_map, seen.length)
            share = self.squares_share / (2 - self.squares_share)
            matrix, left, _ = self._matrix(query, session, share)
        added = np.zeros_like(matrix)
        if problem.l2:
            added = seen.rows * problem.l2 / seen.length**2 * seen.row_map.squares()
        scales = scales_between(_LOOSEST * seen.least, _WIDEST * seen.most)
        posterior = Posterior(matrix + added, left, scales, seen.start())
        for step in range(self.steps):
            # Rounded, so that what LAPACK's order of adding changes is not asked at.
            mean = round_to(posterior.mean(), Problem.PARAMETER_BITS)
            point = np.clip(mean, -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
            asked = replace(query, part="targets", at=point, clip=seen.clip)
            mechanism = noise_of(self, session, Fraction(1, self.steps - step))
            residuals = seen.clip * session.release(asked, mechanism)
            residuals = residuals - ordered_dot(added, point)
            deviation = seen.clip * deviation_of(mechanism, asked, problem)
            posterior.see(point, residuals, deviation)
        w = seen.row_map.pull_back(posterior.mean() / seen.unit)
        return Solution(
            w=round_parameters(w, problem.raw_norm_bound),
            status="All planned releases were made.",
            details=_details(seen),
        )

    def _matrix(
        self, query: Products, session: PrivacySession, share: float
    ) -> tuple[np.ndarray, float, float]:
        """Return the sums of squares and products, most of their noise taken off, the deviation of
        what is left, and that of all noise."""
        mechanism = noise_of(self, session, share)
        answer = session.release(query, mechanism)
        matrix = unpacked(answer, query.problem.n_features)
        deviation = deviation_of(mechanism, query, query.problem)
        return *wiener(matrix, deviation), deviation

    def _refuse_hopeless(self, problem: Problem, session: PrivacySession) -> None:
        """Raise InvalidInputError if the noise of any share does not fit the grid."""
        first, second = pilot_releases(problem)
        whole = 1 - WIDE_SHARE
        for query in (first, second):
            require_room(noise_of(self, session, whole * self.looks_share / 2), query, problem)
        if self.spreads_share:
            share = whole * (1 - self.looks_share) * self.spreads_share * (1 - self.spreads_share)
            for asked in spreads_asked(problem) or ():
                require_room(noise_of(self, session, share), asked, problem)
            whole *= (1 - self.spreads_share) ** 2 / 2  # X'X is asked twice
        left = whole * (1 - self.looks_share) * (1 - AGAIN_SHARE)
        squares = Products(problem, second.row_map, 1.0)
        require_room(noise_of(self, session, left * self.squares_share), squares, problem)
        one = noise_of(self, session, left * (1 - self.squares_share) / self.steps)
        require_room(one, replace(squares, part="targets"), problem)


def _details(seen: PilotRelease) -> dict[str, Any]:
    """Return what the report tells of a run: released values."""
    details: dict[str, Any] = {"rows": seen.rows, "length": seen.length, "level": seen.level}
    details |= {"clip": seen.clip, "u": seen.signal, "centred": seen.row_map.middles is not None}
    if seen.signal < 10:
        details["warning"] = "the budget is small for this many features: expect the mean."
    return details
