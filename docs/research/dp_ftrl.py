"""Batches by place under two relations, and running sums over a binary tree: DP-FTRL."""

import numpy as np

from dpcore.plugin.parts import GridScale, SeededNoise, sqrt_up

CLIP, SIZE, BATCHES = 1000, 100, 8


def batch_sums(rows: np.ndarray) -> np.ndarray:
    """Return the sums of the first batches of ``SIZE`` rows, int64 of shape (BATCHES,)."""
    return np.array([rows[i : i + SIZE].sum() for i in range(0, SIZE * BATCHES, SIZE)])


def noisy_tree(leaves: np.ndarray, multiplier: float) -> list[np.ndarray]:
    """Return the noisy sums of 1, 2, 4, ... batches. Under replace-special a leaf moves by CLIP,
    in one node of each level: all nodes together are one Gaussian release of ``multiplier``."""
    levels, noise = len(leaves).bit_length(), SeededNoise(0)
    scale = GridScale.at_least(multiplier, CLIP * float(sqrt_up(levels)), 0)
    exact = [leaves.reshape(-1, 2**level).sum(axis=1) for level in range(levels)]
    return [sums + noise.gaussian(scale, sums.shape) for sums in exact]


def main() -> None:
    rows = np.random.default_rng(0).integers(1, CLIP + 1, SIZE * BATCHES)
    sums = batch_sums(rows)
    for change, others in (("replaced", np.append(0, rows[1:])), ("added", np.append(1000, rows))):
        moved = np.count_nonzero(sums != batch_sums(others))
        print(f"the first row is {change}: batches that move: {moved}")
    nodes = noisy_tree(sums, 4.0)
    print("six batches:", sums[:6].sum(), "with noise", nodes[2][0] + nodes[1][2])


if __name__ == "__main__":
    main()
