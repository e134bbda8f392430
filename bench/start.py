"""How long until the command line answers, and how long does a whole `train` take?

`dpcore list` and `dpcore --help` against a typer program that prints one line, `dpcore train` on
adult with a kernel cache that is filled and with an empty one. Commands take turns; numbers are the
smallest and the median, wall and CPU seconds. Byte code is cached (the first round, which writes it
and the kernels, is not counted).

    DPCORE_DATA_DIR=... python bench/start.py [--repeats 15]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ONE_LINE = """import typer

app = typer.Typer()


@app.command()
def main() -> None:
    typer.echo("one line")


app()
"""
TRAIN = ["-m", "dpcore", "train", "--algo", "dp-agd", "--data", "adult"]
ANSWER_LIMIT, TRAIN_LIMIT, EMPTY_LIMIT = 0.1, 3.0, 10.0
TRAIN_RUNS = 4

Runs = dict[str, list[tuple[float, float]]]


def run(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall and the CPU seconds of one command, its own processes included."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def measure(repeats: int, folder: Path) -> Runs:
    program = folder / "one_line.py"
    program.write_text(ONE_LINE)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "pyc")
    commands = {
        "typer program": [str(program)],
        "list": ["-m", "dpcore", "list"],
        "help": ["-m", "dpcore", "--help"],
        "train": TRAIN,
        "train, empty cache": TRAIN,
    }
    runs: Runs = defaultdict(list)
    for repeat in range(repeats + 1):
        for name, arguments in commands.items():
            if repeat > TRAIN_RUNS and arguments is TRAIN:
                continue
            cache = folder / (f"cache {repeat}" if "empty" in name else "cache")
            numbers = run(arguments, environment | {"NUMBA_CACHE_DIR": str(cache)})
            if repeat:
                runs[name].append(numbers)
    return runs


def report(runs: Runs) -> None:
    wall = {name: min(w for w, _ in numbers) for name, numbers in runs.items()}
    typer = wall["typer program"]
    print("seconds             wall: min  median   CPU: min  median     min wall against typer's")
    for name, numbers in runs.items():
        columns = [f(seconds) for seconds in zip(*numbers, strict=True) for f in (min, middle)]
        cells = "".join(f"{value:10.3f}" for value in columns)
        against = f"{wall[name] / typer:5.2f} x  {wall[name] - typer:+.3f} s"
        print(f"{name:<19}{cells}     {against}  ({len(numbers)} runs)")
    for name in ("list", "help"):
        print(
            f"{name} above a typer program of one line: {wall[name] - typer:+.3f} s "
            f"(to reach: {ANSWER_LIMIT} or less)"
        )
    for name, limit in (("train", TRAIN_LIMIT), ("train, empty cache", EMPTY_LIMIT)):
        cpu = min(cpu for _, cpu in runs[name])
        print(
            f"{name}, on adult: {wall[name]:.2f} s, {cpu:.2f} s of CPU "
            f"(to reach: {limit:.0f} or less; wall counts only on a machine at rest)"
        )


def middle(values: tuple[float, ...]) -> float:
    return statistics.median(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = max(10, parser.parse_args().repeats)
    with tempfile.TemporaryDirectory() as folder:
        report(measure(repeats, Path(folder)))


if __name__ == "__main__":
    main()
