"""How fast are one clipped gradient and 21 candidate losses on adult, on one thread?

Against the same formulas in plain NumPy (``authors_numpy.py``), and against the same kernels with
float accumulators (``float_twin.py``). Every repetition times each of them, one after the other, so
that load on the machine meets all alike; figures are medians of CPU time. The point moves by a step
each time, so that margins are kept along the line as in a run.

    DPCORE_DATA_DIR=... python bench/kernels.py [--repeats 40]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import authors_numpy
import numpy as np
from float_twin import FloatEngine, FloatGradient, FloatLine

from dpcore.data.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.grid import DIRECTION_BITS, STEP_BITS, round_parameters, round_to
from dpcore.losses.logistic import Logistic
from dpcore.problem import Problem
from dpcore.queries import ClippedGradientSum, ClippedLossLine
from dpcore.registry import load_registry
from dpcore.sensitivity import NeighboringRelation

CLIP, LOSS_CLIP = 1.0, 3.0
STEPS = np.arange(21) * round_to(0.1, STEP_BITS)
TAKEN = STEPS[3]
EXPECTED_MS = {"gradient": 53.0, "losses": 112.0}
"""CPU time of the authors' form on 2 cores, x86-64 with AVX-512, as reported to us."""
LAYOUTS = ("coded", "csr", "dense")
FAST_RUNS = 4
"""Runs of the fast forms to one of the authors' forms, which take as long as many."""
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE

Times = dict[tuple[str, str], list[float]]


class Exact:
    """dpcore's queries through its engine, on one layout of the rows."""

    def __init__(self, dataset: Any, X: Any) -> None:
        bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
        self._engine = LocalEngine(Table.from_matrix(X, dataset.y, **bounds))
        self._problem = Problem(Logistic(), 0.0, X.shape[1], relation=RELATION, **bounds)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self._answer(ClippedGradientSum(self._problem, w, CLIP))

    def losses(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return -self._answer(ClippedLossLine(self._problem, w, direction, STEPS, LOSS_CLIP))

    def _answer(self, query: Any) -> np.ndarray:
        bits = query.sensitivity(RELATION).grid_bits
        return np.ldexp(self._engine.answer(query).astype(np.float64), -bits)


class Floats(Exact):
    """The same queries with float accumulators."""

    def __init__(self, dataset: Any, X: Any) -> None:
        super().__init__(dataset, X)
        bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
        self._floats = FloatEngine(Table.from_matrix(X, dataset.y, **bounds))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self._floats.answer(FloatGradient(self._problem, w, CLIP))

    def losses(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return self._floats.answer(FloatLine(self._problem, w, direction, STEPS, LOSS_CLIP))


class Race:
    """All forms, run along one path of gradient descent, with the CPU ms of every call."""

    def __init__(self, dataset: Any) -> None:
        self.times: Times = defaultdict(list)
        self.difference = 0.0
        self._y = dataset.y
        self._dense = np.ascontiguousarray(dataset.X.toarray())
        layouts = {"coded": dataset.X, "csr": dataset.X.tocsr(), "dense": self._dense}
        self._exact = {name: Exact(dataset, X) for name, X in layouts.items()}
        self._float = {name: Floats(dataset, X) for name, X in layouts.items()}
        self._bound = dataset.raw_norm_bound
        self._w = np.zeros(self._dense.shape[1])
        self._rng = np.random.default_rng(0)

    def run(self, repeats: int) -> None:
        for repeat in range(repeats + 1):
            for _ in range(FAST_RUNS):
                at, direction, gradients, losses = self._fast_step()
            self._authors(at, direction, gradients, losses)
            self._from_elsewhere(at, direction)
            if repeat == 0:  # compiling, first touch of memory
                self.times.clear()

    def _timed(self, form: str, part: str, call: Callable[..., np.ndarray], *args: Any) -> Any:
        started = time.process_time()
        answer = call(*args)
        self.times[form, part].append(1e3 * (time.process_time() - started))
        return answer

    def _fast_step(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], list[np.ndarray]]:
        w, gradients, losses = self._w, [], []
        for name, form in self._exact.items():
            twin = self._float[name]
            gradients.append(self._timed(f"exact {name}", "gradient", form.gradient, w))
            gradients.append(self._timed(f"float {name}", "gradient", twin.gradient, w))
        direction = round_to(gradients[0] / np.linalg.norm(gradients[0]), DIRECTION_BITS)
        for name, form in self._exact.items():
            losses.append(self._timed(f"exact {name}", "losses", form.losses, w, direction))
            floats = self._float[name].losses
            losses.append(self._timed(f"float {name}", "losses", floats, w, direction))
        self._w = round_parameters(w - TAKEN * direction, self._bound)
        return w, direction, gradients, losses

    def _authors(
        self,
        w: np.ndarray,
        direction: np.ndarray,
        gradients: list[np.ndarray],
        losses: list[np.ndarray],
    ) -> None:
        X, y = self._dense, self._y
        W = w - STEPS[:, np.newaxis] * direction
        gradient = authors_numpy.clipped_gradient
        self._compare(gradients, self._timed("authors", "gradient", gradient, X, y, w, CLIP))
        for form, call in (
            ("authors", authors_numpy.losses_one_by_one),
            ("product", authors_numpy.losses_in_one_product),
        ):
            self._compare(losses, self._timed(form, "losses", call, X, y, W, LOSS_CLIP))

    def _from_elsewhere(self, w: np.ndarray, direction: np.ndarray) -> None:
        """Time a gradient at a point whose margins no block has kept; then get them back."""
        elsewhere = w + self._rng.normal(size=w.size)
        for name, form in self._exact.items():
            self._timed(f"fresh {name}", "gradient", form.gradient, elsewhere)
            form.losses(w, direction)

    def _compare(self, answers: list[np.ndarray], expected: np.ndarray) -> None:
        scale = np.abs(expected).max()
        worst = max(float(np.abs(answer - expected).max() / scale) for answer in answers)
        self.difference = max(self.difference, worst)


def report(race: Race) -> None:
    ms = {key: float(np.median(values)) for key, values in race.times.items()}
    ms["product", "gradient"] = ms["authors", "gradient"]
    for form in {form for form, part in ms if part == "losses"}:
        ms[form, "together"] = ms[form, "gradient"] + ms[form, "losses"]
    names = {"authors": "NumPy, candidate by candidate", "product": "NumPy, X @ W.T"}
    parts = ("gradient", "losses", "together")
    print("adult, one thread, one clipped gradient and 21 losses: median CPU ms, and in brackets")
    print("how many times faster than NumPy candidate by candidate / than NumPy with X @ W.T")
    print(f"{'':<30}" + "".join(f"{part:>21}" for part in parts))
    forms = [f"{kind} {name}" for name in LAYOUTS for kind in ("exact", "float")]
    for form in ("authors", "product", *forms):
        cells = (_cell(ms, form, part) for part in parts)
        print(f"{names.get(form, form):<30}" + "".join(f"{cell:>21}" for cell in cells))
    for name in LAYOUTS:
        cell = _cell(ms, f"fresh {name}", "gradient")
        print(f"{f'exact {name}, margins not kept':<30}{cell:>21}")
    print()
    for form in ("authors", "product"):
        for part, expected in EXPECTED_MS.items():
            deviation = ms[form, part] / expected - 1
            print(f"{names[form]}, {part}: {deviation:+.0%} against {expected:.0f} ms expected")
    for name in LAYOUTS:
        ratio = ms[f"exact {name}", "together"] / ms[f"float {name}", "together"]
        print(f"exact sums / float accumulators, {name}: {ratio:.2f}  (to reach: 1.15 or less)")
    for form in ("authors", "product"):
        speeds = (ms[form, "together"] / ms[f"exact {name}", "together"] for name in LAYOUTS)
        shown = ", ".join(f"{s:.1f} {name}" for s, name in zip(speeds, LAYOUTS, strict=True))
        print(f"{names[form]} / exact: {shown}  (to reach: 15 or more)")
    print(f"largest difference between answers, of the largest entry: {race.difference:.0e}")


def _cell(ms: dict[tuple[str, str], float], form: str, part: str) -> str:
    """Return a time with its two ratios."""
    here = ms[form, part]
    return f"{here:.2f} ({ms['authors', part] / here:.1f} / {ms['product', part] / here:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    race = Race(load_registry().load("dataset", "adult")())
    race.run(repeats)
    report(race)


if __name__ == "__main__":
    main()
