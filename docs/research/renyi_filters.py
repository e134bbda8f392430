"""A mean over twenty rounds, each row with a budget of its own: individual Renyi filters."""

import numpy as np

from dpcore.plugin.parts import GridScale, SeededNoise

CLIP, BUDGET, ROUNDS, N0 = 100, 40_000, 20, 1000


def contributions(rows: np.ndarray, points: list[int]) -> np.ndarray:
    """Return each row's part at each point, int64 of shape (points, rows): a function of that row
    and of what was released."""
    parts = np.clip(rows - np.array(points)[:, np.newaxis], -CLIP, CLIP)
    spent = np.zeros(len(rows), dtype=np.int64)
    for part in parts:
        part *= spent + part**2 <= BUDGET  # decided with this round's cost, before it contributes
        spent += part**2
    return parts


def main() -> None:
    rows = np.random.default_rng(0).integers(640, 760, 1000)
    scale = GridScale.at_least(4.0, 200.0, 0)  # 4 sqrt(BUDGET): rho = 1/32
    noise, points = SeededNoise(1), [500]
    for _ in range(ROUNDS):  # public
        noisy = int(contributions(rows, points)[-1].sum() + noise.gaussian(scale, 1)[0])
        points.append(points[-1] + noisy // N0)
    parts = contributions(rows, points)
    print("the last point:", points[-1])
    print("most that a row spent:", (parts**2).sum(axis=0).max(), "of", BUDGET)
    without = contributions(rows[1:], points)
    print(
        "parts of the others without the first row are the same:", (parts[:, 1:] == without).all()
    )


if __name__ == "__main__":
    main()
