"""What does a million exact deviates cost, for a pool of users who add their own noise?

10,000 users of 124 coordinates each. Forms take turns in one run: exact normal deviates in bulk,
those drawn one at a time, Skellam numbers in bulk, NumPy's normal deviates rounded down (floats of
a generator that is no secure one: what an unsafe implementation would take) and the same amount of
``os.urandom`` and of ``ssl.RAND_bytes`` alone. Numbers are medians of CPU time a deviate; last,
wall time on two threads.

    python bench/noise.py [--repeats 15]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import os
import ssl
import time
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dpcore.noise.normal import NormalDistribution, WideNormalDistribution
from dpcore.noise.scale import GridScale
from dpcore.noise.source import SystemNoise
from dpcore_a_ddp.skellam_noise.distribution import draw_skellam, skellam_distribution

USERS, COORDINATES = 10_000, 124
COUNT = USERS * COORDINATES
ONE_BY_ONE = 20_000
"""So many are drawn one at a time: a large scale takes that path."""
SIGMA_BITS = (10, 16, 20, 38)
SKELLAM_BITS = (3, 8, 12)
TO_REACH_NS = 10.0


def forms(noise: SystemNoise) -> dict[str, tuple[int, Callable[[], object]]]:
    """Return, by name, how many deviates a form draws, and the form."""
    generator = np.random.default_rng()
    made: dict[str, tuple[int, Callable[[], object]]] = {}
    for bits in SIGMA_BITS:
        scale = GridScale(1 << bits)
        taken = next(
            kind for kind in (NormalDistribution, WideNormalDistribution) if kind.holds(scale)
        )(scale).bits
        made[f"normal in bulk, 2^{bits}"] = COUNT, partial(noise.gaussian, scale, COUNT)
        for draw, name in ((os.urandom, "os.urandom"), (ssl.RAND_bytes, "ssl.RAND_bytes")):
            made[f"{name}, {taken} bits"] = COUNT, partial(draw, COUNT * taken // 8)
    for bits in SKELLAM_BITS:
        variance = Fraction(1 << 2 * bits)
        skellam_distribution(variance)
        made[f"Skellam in bulk, 2^{bits}"] = COUNT, partial(draw_skellam, noise, variance, COUNT)
    wide = GridScale(1 << 50)
    made["normal one at a time"] = ONE_BY_ONE, partial(noise.gaussian, wide, ONE_BY_ONE)
    made["NumPy, floored"] = (
        COUNT,
        lambda: np.floor(generator.standard_normal(COUNT) * 65536.0).astype(np.int64),
    )
    return made


def measure(repeats: int) -> dict[str, float]:
    """Return CPU nanoseconds a deviate, by form: medians of interleaved repetitions."""
    found = defaultdict(list)
    chosen = forms(SystemNoise())
    for turn in range(repeats + 1):
        for name, (count, draw) in chosen.items():
            start = time.process_time()
            draw()
            if turn:  # The first is to compile and to make tables.
                found[name].append((time.process_time() - start) / count * 1e9)
    return {name: float(np.median(times)) for name, times in found.items()}


def wall(repeats: int, threads: int) -> float:
    """Return the least wall time of a whole round's normal noise, in milliseconds."""
    noise, times = SystemNoise(), []
    for _ in range(repeats):
        start = time.perf_counter()
        noise.gaussian(GridScale(1 << 16), (USERS, COORDINATES), threads=threads)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    found = measure(repeats)
    bulk, slow, unsafe = (
        found[name] for name in ("normal in bulk, 2^16", "normal one at a time", "NumPy, floored")
    )
    print(f"{'form':26} {'ns':>8} {'one at a time':>14} {'NumPy':>8}    (times)")
    for name, ns in found.items():
        print(f"{name:26} {ns:8.1f} {slow / ns:14.1f} {ns / unsafe:8.2f}")
    entropy = found[f"ssl.RAND_bytes, {NormalDistribution(GridScale(1 << 16)).bits} bits"]
    print(
        f"\nNormal in bulk at 2^16 steps: {bulk:.1f} ns ({TO_REACH_NS:g} to reach), "
        f"{slow / bulk:.0f} times faster than one at a time, {bulk / unsafe:.2f} times NumPy's "
        f"unsafe one; {entropy / bulk:.0%} of it is for random words."
    )
    one, two = (wall(repeats, threads) for threads in (1, 2))
    print(
        f"A round of {USERS:,} x {COORDINATES}, least wall time: {one:.1f} ms on one thread, "
        f"{two:.1f} ms on two ({one / two:.2f} times)."
    )


if __name__ == "__main__":
    main()
