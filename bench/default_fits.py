"""Is a default fit slower than at an earlier commit?

The earlier commit gets a worktree and an environment of its own in a folder, which stays for the
next run. Each algorithm is fitted to adult with its defaults, on one thread, at both commits in
turns, so that load on the machine meets both alike. The least CPU time of warm fits is printed for
each, and their ratio. The exit status is 1 if a ratio is above 1.05.

    DPCORE_DATA_DIR=... python bench/default_fits.py --against REVISION --folder FOLDER
    DPCORE_DATA_DIR=... python bench/default_fits.py --against REVISION --folder FOLDER \\
        --algorithms dp-agd rsgd-ar --turns 8
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from dpcore.errors import DpcoreError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin.commands import Run
from dpcore.registry.catalogue import load_registry

MOST = 1.05
"""The ratio that is not to be exceeded."""
EPSILON, DELTA = 0.4, 1e-8
ROOT = Path(__file__).resolve().parents[1]

Times = dict[str, float]


def fits_here(algorithms: Sequence[str], fits: int) -> Times:
    """Return the least CPU seconds of a fit by each algorithm that fits adult at this budget; the
    first fit of each is warm-up. This code runs at the earlier commit too."""
    warnings.simplefilter("ignore")
    registry = load_registry()
    adult, found = registry.load("dataset", "adult")(), Times()
    for name in algorithms or registry.names("optimizer"):
        settings = Settings(algo=name, epsilon=EPSILON, delta=DELTA, threads=1)
        try:
            Run(make_plan(settings), adult).model()
        except DpcoreError:  # For another loss, or a target in place of epsilon.
            continue
        seconds = []
        for _ in range(fits):
            begin = time.process_time()
            Run(make_plan(settings), adult).model()
            seconds.append(time.process_time() - begin)
        found[name] = min(seconds)
    return found


def checkout(folder: Path, revision: str) -> Path:
    """Return a worktree of the revision in the folder, with its environment."""
    git = ["git", "-C", str(ROOT)]
    said = subprocess.run(
        [*git, "rev-parse", "--verify", f"{revision}^{{commit}}"],
        check=True,
        capture_output=True,
        text=True,
    )
    commit = said.stdout.strip()
    tree = folder.resolve() / commit[:12]
    if not tree.exists():
        subprocess.run(
            [*git, "worktree", "add", "--quiet", "--detach", str(tree), commit], check=True
        )
    subprocess.run(["uv", "sync", "--quiet", "--all-packages"], cwd=tree, check=True)
    return tree


def fits_of(python: Path, algorithms: Sequence[str], fits: int) -> Times:
    """Return ``fits_here`` by another Python, in a process of its own."""
    options = ["--here", "--fits", str(fits), "--algorithms", *algorithms]
    command = [str(python), __file__, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"The fits by {python} failed:\n{done.stderr}")
    times: Times = json.loads(done.stdout)
    return times


def compare(before: Path, algorithms: Sequence[str], turns: int, fits: int) -> list[str]:
    """Print the times at both commits, and return the algorithms that are slower now."""
    pythons = before / ".venv" / "bin" / "python", Path(sys.executable)
    least: tuple[Times, Times] = {}, {}
    for _ in range(turns):
        for python, known in zip(pythons, least, strict=True):
            for name, seconds in fits_of(python, algorithms, fits).items():
                known[name] = min(seconds, known.get(name, seconds))
    print(f"adult, epsilon {EPSILON:g}, delta {DELTA:g}, one thread: least CPU seconds of a warm")
    print(f"fit, of {turns * fits} at each commit, and their ratio")
    print(f"{'':<16}{'before':>8}{'now':>8}{'ratio':>8}")
    then, now = least
    ratios = {name: now[name] / then[name] for name in now if name in then}
    for name, ratio in ratios.items():
        print(f"{name:<16}{then[name]:>8.3f}{now[name]:>8.3f}{ratio:>8.2f}")
    return [name for name, ratio in ratios.items() if ratio > MOST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="REVISION", help="the earlier commit")
    parser.add_argument("--folder", type=Path, help="where its worktree is, or is made")
    parser.add_argument("--algorithms", nargs="*", default=[], help="all, if none is named")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--fits", type=int, default=4, help="at each commit in a turn")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.here:
        print(json.dumps(fits_here(chosen.algorithms, chosen.fits)))
        return
    if not (chosen.against and chosen.folder):
        parser.error("--against and --folder are needed")
    before = checkout(chosen.folder, chosen.against)
    if slower := compare(before, chosen.algorithms, chosen.turns, chosen.fits):
        raise SystemExit(f"More than {MOST} times the time before: {', '.join(slower)}")


if __name__ == "__main__":
    main()
