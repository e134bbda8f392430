"""Boxes of Tukey depth on a public grid, and how far depth moves when one model is another."""

from collections.abc import Sequence
from itertools import product
from math import prod

Point = tuple[int, ...]


def depth(models: Sequence[Point], y: Point) -> int:
    """Return the fewest models on one side of y in any coordinate; ties are on both sides."""
    return min(
        min(sum(a <= at for a in column), sum(a >= at for a in column))
        for column, at in zip(zip(*models, strict=True), y, strict=True)
    )


def points_of_depth(models: Sequence[Point], least: int) -> int:
    """Return how many grid points have this depth, >= 1, or more: a box, in whole numbers."""
    columns = [sorted(column) for column in zip(*models, strict=True)]
    return prod(max(0, column[-least] - column[least - 1] + 1) for column in columns)


def main() -> None:
    grid = list(product(range(4), repeat=2))  # public; models are held to it
    models = [(0, 0), (1, 3), (2, 1), (3, 2)]
    for least in range(1, len(models) + 1):
        counted = sum(depth(models, y) >= least for y in grid)
        print(
            f"depth {least} or more: a box of {points_of_depth(models, least)}, counted {counted}"
        )
    moves = [[depth([other, *models[1:]], y) - depth(models, y) for y in grid] for other in grid]
    print(
        "one model is another: depth moves by", max(max(map(abs, each)) for each in moves), end=""
    )
    print(", range", max(max(each) - min(each) for each in moves))


if __name__ == "__main__":
    main()
