"""Print how many times the CPU seconds of a core of 2020 this machine takes now, at least .6.

A loop is run on two cores at once, as tests are: neighbours on a shared machine slow both.
"""

import time
from concurrent.futures import ProcessPoolExecutor

ROUNDS = 3_000_000
SECONDS = 0.165
"""Of that loop, by CPython 3.11 on a core of 2020 at 4 GHz or more."""
LEAST = 0.6
"""Of a machine that is faster still: a short loop says little of it."""


def loop_seconds(_: int) -> float:
    """Return the CPU seconds of the loop, the middle one of three."""
    taken = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for i in range(ROUNDS):
            total += i * i
        taken.append(time.process_time() - began)
    return sorted(taken)[1]


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        mean = sum(pool.map(loop_seconds, range(2))) / 2
    print(f"{max(LEAST, mean / SECONDS):.2f}")
