"""Crossover and mutation of parameter vectors, from public coins: they do not look at rows."""

from __future__ import annotations

import numpy as np

from dpcore.plugin import ordered_dot

__all__ = ["crossed", "mutations"]


def crossed(parents: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return ``count`` offspring, float64 of shape (count, n_features): each pair of them is a pair
    of different parents, drawn at random, that swap what is after a random place."""
    if len(parents) == 1:
        return np.repeat(parents, count, axis=0)
    width, pairs = parents.shape[1], (count + 1) // 2
    order = rng.random((pairs, len(parents))).argsort(axis=1)
    first, second = parents[order[:, 0]], parents[order[:, 1]]
    stays = np.arange(width) < rng.integers(1, max(2, width), size=(pairs, 1))
    born = np.where(stays, first, second), np.where(stays, second, first)
    return np.stack(born, axis=1).reshape(2 * pairs, width)[:count]


def mutations(
    shape: tuple[int, int], genes: int | None, length: float, rng: np.random.Generator
) -> np.ndarray:
    """Return moves of ``length`` in random directions, float64 of ``shape``: of ``genes`` random
    coordinates each, or of all."""
    moves = rng.normal(size=shape)
    if genes is not None and genes < shape[1]:
        moves[rng.random(shape).argsort(axis=1).argsort(axis=1) >= genes] = 0.0
    moves *= length / np.sqrt(ordered_dot(moves, moves))[:, np.newaxis]
    return moves
