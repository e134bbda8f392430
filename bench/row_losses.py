"""What does a scalar loss of two functions of a row cost, over kernels written for it?

The kernels are those that these losses had before, and for a count the same formula as a loop. Both
forms take turns at fresh points over the same made table of 20,000 dense rows on one thread, each
as often first as second; their answers have the same bits. A gradient is one pass of clipped
gradients, the 21 losses those of candidates along a line, and a fit one of dp-agd at epsilon 1,
under a seed. Numbers are medians of CPU time, and of the ratios of pairs.

    python bench/row_losses.py [--repeats 200] [--fits 10] [--columns 100]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import math
import time
from dataclasses import field, fields, make_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, Settings, njit
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import Dataset, LocalEngine, dataset_from_arrays, load_registry
from dpcore.row_functions.functions import NAMES
from dpcore_dp_agd.loss_line import ClippedLossLine

ROWS, CLIP, LOSS_CLIP = 20_000, 1.0, 3.0
STEPS = np.arange(21) * 2.0**-4
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
PARAMETERS = {"huber-svm": (0.5,), "quantile": (0.5, 0.0)}
exp, log = NAMES["m_exp"], NAMES["m_log"]
FAR, AT_FAR = 30.0, math.exp(30.0)
strict = njit(error_model="numpy", nogil=True)


@strict
def hinge_value(z: Any, y: Any, parameters: Any, out: Any) -> None:
    for i in range(z.shape[0]):
        slack = 1.0 - y[i] * z[i]
        out[i] = slack if slack > 0.0 else 0.0


@strict
def hinge_slope(z: Any, y: Any, parameters: Any, out: Any) -> None:
    for i in range(z.shape[0]):
        out[i] = -y[i] if y[i] * z[i] < 1.0 else 0.0


@strict
def huber_value(z: Any, y: Any, parameters: Any, out: Any) -> None:
    h = parameters[0]
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        gap = 1.0 + h - m
        middle = gap * gap * (1.0 / (4.0 * h))
        inner = middle if gap > 0.0 else 0.0
        out[i] = 1.0 - m if m < 1.0 - h else inner


@strict
def huber_slope(z: Any, y: Any, parameters: Any, out: Any) -> None:
    h = parameters[0]
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        gap = 1.0 + h - m
        steep = -gap * (1.0 / (2.0 * h)) if gap > 0.0 else 0.0
        inner = steep if steep > -1.0 else -1.0
        out[i] = y[i] * (-1.0 if m < 1.0 - h else inner)


@strict
def quantile_value(z: Any, y: Any, parameters: Any, out: Any) -> None:
    tau, h = parameters[0], parameters[1]
    quarter = 0.25 / h if h > 0.0 else 0.0
    for i in range(z.shape[0]):
        r = y[i] - z[i]
        inner = quarter * (tau * (h + r) * (h + r) + (1.0 - tau) * (h - r) * (h - r))
        outer = tau * r if r > 0.0 else (tau - 1.0) * r
        out[i] = inner if abs(r) < h else outer


@strict
def quantile_slope(z: Any, y: Any, parameters: Any, out: Any) -> None:
    tau, h = parameters[0], parameters[1]
    half = 0.5 / h if h > 0.0 else 0.0
    for i in range(z.shape[0]):
        r = y[i] - z[i]
        bent = half * ((1.0 - tau) * (h - r) - tau * (h + r))
        least = bent if bent > -tau else -tau
        inner = least if least < 1.0 - tau else 1.0 - tau
        outer = -tau if r >= 0.0 else 1.0 - tau
        out[i] = inner if abs(r) < h else outer


@strict
def poisson_value(z: Any, y: Any, parameters: Any, out: Any) -> None:
    for i in range(z.shape[0]):
        t, beyond = 1.0 + y[i], z[i] - FAR
        least = t * (1.0 + z[i] - log(t)) if t > 0.0 else 0.0
        above = AT_FAR * (1.0 + beyond + 0.5 * beyond * beyond)
        value = (exp(z[i]) if z[i] < FAR else above) - least
        out[i] = value if value > 0.0 else 0.0


@strict
def poisson_slope(z: Any, y: Any, parameters: Any, out: Any) -> None:
    for i in range(z.shape[0]):
        mean = exp(z[i]) if z[i] < FAR else AT_FAR * (1.0 + (z[i] - FAR))
        out[i] = mean - (1.0 + y[i])


KERNELS: dict[str, tuple[Any, Any]] = {
    "hinge-svm": (hinge_value, hinge_slope),
    "huber-svm": (huber_value, huber_slope),
    "quantile": (quantile_value, quantile_slope),
    "poisson": (poisson_value, poisson_slope),
}


def with_kernels(loss: Any, name: str) -> Any:
    """Return a loss with kernels of its own, and the facts and fields of another: a session copies
    them, and asks for them, at each release."""
    value, slope = KERNELS[name]
    parameters = np.array(PARAMETERS.get(name, ()))
    own = {
        "value": lambda self, z, y, out: value(z, y, parameters, out),
        "dvalue": lambda self, z, y, out: slope(z, y, parameters, out),
        "thread_safe": True,
    }
    facts = ("name", "classification", "convex", "lipschitz", "smoothness", "nonincreasing")
    kind, names = type(loss), (*facts, "__post_init__")
    known = {each: vars(kind)[each] for each in names if each in vars(kind)}
    taken = [(f.name, f.type, field(default=f.default, metadata=f.metadata)) for f in fields(kind)]
    space = {**known, **own}
    return make_dataclass("Kernels", taken, namespace=space, frozen=True, slots=True)()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--columns", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, options.columns))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    for name in KERNELS:
        loss = load_registry().load("loss", name)()
        bounds = {} if loss.classification else {"target_bounds": (0.0, 2.0)}
        data = dataset_from_arrays(X, y + bool(bounds), intercept=False, **bounds)
        problems = [
            Problem(each, 0.0, options.columns, 1.0, 1.0, RELATION)
            for each in (with_kernels(loss, name), loss)
        ]
        for what, ask in (("gradient", _gradient), ("21 losses", _losses), ("fit", _fit)):
            times: tuple[list[float], list[float]] = ([], [])
            for repeat in range(2 * (options.fits if ask is _fit else options.repeats) + 2):
                w = rng.normal(size=options.columns)
                answers = []
                for k in (0, 1) if repeat % 2 else (1, 0):
                    asked = ask(problems[k], w, data)
                    began = time.process_time()
                    answers.append(asked())
                    times[k].append(1e3 * (time.process_time() - began))
                assert np.array_equal(*answers)
            usual, own = (np.array(taken[2:]) for taken in times)
            print(
                f"{name}, {what}: kernels {np.median(usual):.3f} ms, functions "
                f"{np.median(own):.3f} ms, {np.median(own / usual):.2f}"
            )


def _gradient(problem: Problem, w: np.ndarray, data: Dataset) -> Any:
    return partial(LocalEngine(data.table()).answer, ClippedGradientSum(problem, w, CLIP))


def _losses(problem: Problem, w: np.ndarray, data: Dataset) -> Any:
    line = ClippedLossLine(problem, np.zeros(w.size), w / 64.0, STEPS, LOSS_CLIP)
    return partial(LocalEngine(data.table()).answer, line)


def _fit(problem: Problem, w: np.ndarray, data: Dataset) -> Any:
    plan = make_plan(
        Settings(algo="dp-agd", loss=problem.loss.name, epsilon=1.0, seed=0, threads=1)
    )
    run = Run(replace(plan, loss=problem.loss), data)
    return lambda: run.model().coef


if __name__ == "__main__":
    main()
