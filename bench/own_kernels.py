"""The loops of each paper's own kernels, beside the same formulas in NumPy as its script has them.

    python bench/own_kernels.py [--rounds 9]

Generated rows, 40,000 of 108 features with 14 ones each, as Adult's; one thread; CPU milliseconds,
the median over rounds in which both take turns.

* dp-agd: the clipped logistic losses of 21 candidates along a line, from margins that are at hand;
  NumPy candidate by candidate (Algorithm 2 of Lee & Kifer 2018, line 10);
* rsgd-ar: Algorithm 2 of Chen, Lee & Kifer 2019, 20 epochs of 97 batches; NumPy's double loop, one
  vector operation for each step, without averages;
* a-ddp: the gradient of one row of each of 391 users, truncated; NumPy user by user;
* accuracy-first: X'X of whole numbers, dense; NumPy's product;
* baselines: a step of the descent with its average and spread; NumPy's, array by array;
* objpert: slopes in two parts whose sums are exact, as of outpert; NumPy's, array by array;
* bfgs: the step of the minimiser of both, from twelve pairs; NumPy's, pair by pair;
* privgene: clipped logistic losses of 21 candidates, from margins that are at hand, by the core's
  kernels; NumPy's, candidate by candidate;
* distances: the largest between 200 candidates of privgene's preset; NumPy's, row by row;
* adassp: sums of clipped residuals times rows, whole numbers, dense; NumPy's line by line;
* newton: rows standardised and held to the clip by their curvature, as whole numbers; NumPy's;
* frank-wolfe: the gradient from the rows whose slope moved, an eighth of them; SciPy's product.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from dpcore.losses.logistic import Logistic
from dpcore.plugin.parts import clipped_total
from dpcore_a_ddp.kernels import add_drawn, drawn_margins
from dpcore_accuracy_first.queries.gram import gram_sums
from dpcore_adassp.kernels import residual_sums
from dpcore_baselines.descent.kernels import averaged_step
from dpcore_baselines.queries.descent import bfgs_direction
from dpcore_baselines.queries.kernels import widest_square, write_parts
from dpcore_dp_agd.logistic_line import logistic_totals
from dpcore_frank_wolfe.kernels import add_rows
from dpcore_newton.kernels import write_roots
from dpcore_rsgd_ar.schedule import Facts, Schedule
from dpcore_rsgd_ar.sensitivity import batch_sensitivities

N, D, ONES, USERS = 40_000, 108, 14, 391
Case = tuple[str, Callable[[], object], Callable[[], object]]


def dp_agd(rng: np.random.Generator) -> Case:
    z, along, y = rng.normal(size=N), rng.normal(size=N), rng.choice([-1.0, 1.0], N)
    line, step = (z, along, np.ones(N)), 0.1

    def numpy() -> list[float]:
        margins = (y * (z - k * step * along) for k in range(21))
        return [np.clip(np.log1p(np.exp(-m)), 0, 3).sum() for m in margins]

    return "dp-agd", lambda: logistic_totals(line, y, step, 21, 3.0, 2.0**20), numpy


def rsgd_ar(rng: np.random.Generator) -> Case:
    facts = Facts(0.001, 1.0, 1.0, 0.25, D)
    steps = (2.0 / (np.arange(20) + 1.0))[:, None]
    schedule = Schedule(N, 412, steps)

    def numpy() -> np.ndarray:
        deltas = np.zeros(schedule.n_batches)
        for eta in steps[:, 0]:
            rho = max(abs(1 - eta * facts.mu), abs(1 - eta * facts.curvature))
            for j, size in enumerate(schedule.sizes):
                deltas *= rho
                deltas[j] += 2 * eta * facts.gradient / size
        return deltas

    return "rsgd-ar", lambda: batch_sensitivities(schedule, facts, 40), numpy


def a_ddp(rng: np.random.Generator) -> Case:
    places = np.sort(np.argsort(rng.random((N, D)), axis=1)[:, :ONES], axis=1).ravel()
    X = sparse.csr_matrix(
        (np.ones(N * ONES), places.astype(np.int64), np.arange(0, N * ONES + 1, ONES)), (N, D)
    )
    indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    rows, users = rng.integers(0, N, USERS), np.arange(USERS)
    w, scale = rng.normal(size=D), 2.0**20

    def ours() -> np.ndarray:
        z, out = np.empty(USERS), np.zeros((USERS, D), dtype=np.int64)
        drawn_margins(indptr, indices, X.data, rows, w, z)
        add_drawn(indptr, indices, X.data, rows, users, 1 / (1 + np.exp(z)), scale, out)
        return out

    def numpy() -> np.ndarray:
        out = np.zeros((USERS, D))
        for u, row in zip(users, rows, strict=True):
            x = X[row].toarray()[0]
            out[u] = x / (1 + np.exp(x @ w))
        return out

    return "a-ddp", ours, numpy


def accuracy_first(rng: np.random.Generator) -> Case:
    X = rng.integers(-100, 100, (N, 38)).astype(np.float64)
    return "accuracy-first", lambda: gram_sums(X, 38), lambda: X.T @ X


def baselines(rng: np.random.Generator) -> Case:
    gradient, before, after = rng.normal(size=D), np.zeros((4, D)), np.empty((4, D))
    params = np.array([0.85, 0.1, 0.1, 2.0**20])

    def numpy() -> tuple[np.ndarray, np.ndarray]:
        smoothed = 0.85 * before[0] + 0.15 * gradient
        v = before[1] - 0.1 * smoothed
        way = v - before[2]
        return 0.9 * (before[3] + 0.1 * way * way), 0.9 * before[2] + 0.1 * v

    return "baselines", lambda: averaged_step(gradient, params, before, after), numpy


def objpert(rng: np.random.Generator) -> Case:
    slopes, factor, one = rng.normal(size=(1, N)), rng.uniform(0.5, 1.0, N), 2.0**20

    def ours() -> np.ndarray:
        parts = np.empty((2, 1, N))
        write_parts(slopes, factor, one, parts)
        return parts

    def numpy() -> tuple[np.ndarray, np.ndarray]:
        whole = slopes * factor
        first = np.rint(whole * one) * (1 / one)
        return first, np.rint((whole - first) * (one * one))

    return "objpert", ours, numpy


def bfgs(rng: np.random.Generator) -> Case:
    g, moved = rng.normal(size=D), rng.normal(size=(12, D))
    turned = moved * rng.uniform(0.5, 20.0, D)
    memory = list(zip(moved, turned, strict=True))

    def numpy() -> np.ndarray:
        step, weights = g.copy(), []
        for s, y in reversed(memory):
            weights.append(s @ step / (s @ y))
            step -= weights[-1] * y
        step *= moved[-1] @ turned[-1] / (turned[-1] @ turned[-1])
        for (s, y), weight in zip(memory, reversed(weights), strict=True):
            step += (weight - y @ step / (s @ y)) * s
        return step

    return "bfgs", lambda: bfgs_direction(g, memory, 1.0), numpy


def privgene(rng: np.random.Generator) -> Case:
    margins, y, loss = rng.normal(size=(21, N)), rng.choice([-1.0, 1.0], N), Logistic()
    values = np.empty(N)

    def ours() -> list[np.int64]:
        totals = []
        for z in margins:
            loss.value(z, y, values)
            totals.append(clipped_total(values, 2.0, 2.0**20))
        return totals

    def numpy() -> list[float]:
        return [np.clip(np.log1p(np.exp(-y * z)), 0, 2).sum() for z in margins]

    return "privgene", ours, numpy


def distances(rng: np.random.Generator) -> Case:
    points = rng.normal(size=(200, D))

    def numpy() -> float:
        return max(((points[k:] - point) ** 2).sum(axis=1).max() for k, point in enumerate(points))

    def ours() -> float:
        return widest_square(np.ascontiguousarray(points.T), np.empty(200))

    return "distances", ours, numpy


def adassp(rng: np.random.Generator) -> Case:
    X = np.trunc(2.0**12 * rng.normal(size=(N, 38)))
    y, at, out = rng.normal(size=N), rng.normal(size=38) * 2.0**-14, np.zeros(38)

    def numpy() -> np.ndarray:
        return np.trunc(2.0**12 * np.clip((y - X @ at) / 0.5, -1, 1)) @ X

    return "adassp", lambda: residual_sums(X, y, at, np.array([0.5, 2.0**12]), out), numpy


def newton(rng: np.random.Generator) -> Case:
    X, c, maps = rng.normal(size=(N, 38)), rng.uniform(0, 0.25, N), np.ones((2, 38))
    out, params = np.empty_like(X), np.array([1.0, 2.0**12, 37.0])

    def numpy() -> np.ndarray:
        phi = X * maps[0] - X[:, -1:] * maps[1]
        roots = np.sqrt(np.minimum(c, 1.0 / (phi * phi).sum(axis=1)))
        return np.trunc(2.0**12 * roots[:, None] * phi)

    return "newton", lambda: write_roots(X, c, maps, params, out), numpy


def frank_wolfe(rng: np.random.Generator) -> Case:
    X = sparse.random(N, 10_000, ONES / 10_000, "csr", np.int64, rng)
    X.data[:] = 1 << 20
    change = np.where(rng.random(N) < 0.125, rng.integers(-9, 9, N), 0)
    steps, total = X.data.astype(np.int32), np.zeros(10_000, np.int64)

    def ours() -> None:
        add_rows(X.indptr, X.indices, steps, change, total)

    return "frank-wolfe", ours, lambda: X.T @ change


def milliseconds(run: Callable[[], object], calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - started) / calls * 1e3


def measured(rounds: int) -> Iterator[tuple[str, float, float]]:
    """Yield the package and the medians, kernel and NumPy."""
    every = (dp_agd, rsgd_ar, a_ddp, accuracy_first, baselines, objpert, bfgs, privgene, distances)
    every = (*every, adassp, newton, frank_wolfe)
    for make in every:
        name, ours, numpy = make(np.random.default_rng(0))
        ours(), numpy()
        calls = max(1, int(20 / max(milliseconds(ours, 3), 0.01)))
        times = [
            (milliseconds(ours, calls), milliseconds(numpy, max(1, calls // 4)))
            for _ in range(rounds)
        ]
        mine, other = np.median(times, axis=0)
        yield name, float(mine), float(other)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    for name, mine, other in measured(parser.parse_args().rounds):
        print(f"{name:15} kernel {mine:8.4f} ms, NumPy {other:8.4f} ms, {other / mine:6.1f} times")


if __name__ == "__main__":
    main()
