"""The cost of an integer deviate on a number that moves by at most D steps, by construction.

L is the distribution of the deviate, T = 2^k the sum of its weights, and L + j the same
distribution, shifted by j. Neighbours' numbers differ by some whole j, |j| <= D, so that their
releases have the distributions L + j and L, up to one common shift, in this order or the other: L
against L + j is, shifted back, L - j against L. So both orders of all neighbours are the pairs (L +
j, L) with j in -D..D, and

    h(g) = max over 0 < |j| <= D of H_g(L + j || L),  H_g(A || B) = sup over S of A(S) - g B(S),

bounds all of them (j = 0 is below any other). H_g(L + j || L) is the largest A - g B over the
points (B, A) = (L(S), (L + j)(S)), and by Neyman and Pearson over those S alone that hold the
largest ratios. So h is the largest A - g B over the points of all j. Their upper concave hull, from
(0, 0) to (1, 1), has the same largest A - g B for every g, and its edges are the outcomes of a pair
(P, Q): Q's share is the edge's width, P's its height. Hence H_g(P || Q) = h(g) for every g > 0: the
pair dominates every shift in both orders (Zhu, Dong & Wang 2022, "Optimal accounting of
differential privacy via characteristic function", section 3), and no smaller one does. What L + j
puts where L has nothing is the hull's first edge, of no width: it is in delta at every epsilon.

All points are multiples of 1/T: everything here is in whole numbers, and nothing is rounded.
"""

from __future__ import annotations

from functools import cmp_to_key

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import cached_by_value

__all__ = ["Point", "hull_of_shifts"]

Point = tuple[int, int]
"""Weights of a set of values under the distribution and under the shifted one, in this order."""

_MOST_WORK = 1 << 20
"""Of values times shifts: some seconds."""


@cached_by_value(maxsize=32)
def hull_of_shifts(weights: tuple[int, ...], most: int) -> tuple[Point, ...]:
    """Return the vertices of the hull over all shifts by 1 to ``most`` steps, both ways, from
    (0, 0) to (T, T).

    Raises InvalidInputError where a shift leaves no value in common, so that it would be seen for
    sure, or for more shifts than are worked out.
    """
    if most >= len(weights):
        _refuse(weights, most)
    if 2 * most * len(weights) > _MOST_WORK:
        raise InvalidInputError(
            f"A table of {len(weights):,} weights and a sensitivity of {most:,} grid steps are "
            "more than is worked out: state the answer on a coarser grid, or take laplace noise."
        )
    shifts = (*range(-most, 0), *range(1, most + 1))
    hull = _hull(sorted({point for shift in shifts for point in _reached(weights, shift)}))
    if hull[1] == (0, hull[-1][1]):
        _refuse(weights, most)
    return hull


def _refuse(weights: tuple[int, ...], most: int) -> None:
    raise InvalidInputError(
        f"A table of {len(weights):,} weights hides no move by the sensitivity's {most:,} grid "
        "steps: two neighbours' answers have no value in common. Take a longer table, an answer "
        "on a coarser grid or a smaller clip."
    )


def _reached(weights: tuple[int, ...], shift: int) -> list[Point]:
    """Return the weights of the sets of largest ratios of the distribution shifted by ``shift``,
    over the distribution itself: from none to all."""
    none = (0,) * abs(shift)
    at_rest, moved = (*weights, *none), (*none, *weights)
    sides = (at_rest, moved) if shift > 0 else (moved, at_rest)
    pairs = [(q, p) for q, p in zip(*sides, strict=True) if q or p]
    pairs.sort(key=cmp_to_key(_by_falling_ratio))
    points = [(0, 0)]
    for q, p in pairs:
        points.append((points[-1][0] + q, points[-1][1] + p))
    return points


def _by_falling_ratio(a: Point, b: Point) -> int:
    """Return a number below 0 where the second weight over the first is larger of a than of b."""
    return a[0] * b[1] - b[0] * a[1]


def _hull(points: list[Point]) -> tuple[Point, ...]:
    """Return the vertices of the upper concave hull of sorted points, from the first to the last
    (Andrew 1979, the monotone chain)."""
    kept: list[Point] = []
    for x, y in points:
        while len(kept) > 1 and _is_below(kept[-2], kept[-1], (x, y)):
            kept.pop()
        kept.append((x, y))
    return tuple(kept)


def _is_below(a: Point, b: Point, c: Point) -> bool:
    """Return whether b is on the line from a to c or below it."""
    return (b[1] - a[1]) * (c[0] - b[0]) <= (c[1] - b[1]) * (b[0] - a[0])
