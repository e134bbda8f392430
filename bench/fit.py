"""How long does a whole fit on adult take, beside diffprivlib's and Opacus' logistic regression?

One fold in five is held out; the four others are fitted at the same epsilon by each library, one
after the other, round by round, so that load on the machine meets all alike. A fit of dpcore is
everything from the encoded rows to the model: blocks with verified bounds, plan, session with the
system's noise, model with its report. The other libraries get the same rows as a dense matrix in
an environment of their own (``others/``), without the intercept's column, which they add. Every
fit is warm: not the first of its process. One thread, except where a row says otherwise.

    DPCORE_DATA_DIR=... python bench/fit.py --make-environments FOLDER --python python3.11
    DPCORE_DATA_DIR=... python bench/fit.py --environments FOLDER [--epsilon 0.4] [--rounds 3]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.engines.local import LocalEngine
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.unbounded import encoded_rows
from dpcore.plugin.commands import Run
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore_lab.compare.folds import fold_numbers

FOLDS = 5
DELTA = 1e-8
STEPS = 200
SECONDS_TO_REACH = 0.6
OURS = "dpcore, default (auto)"
LIBRARIES = {
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn<1.6"),
    "opacus": ("opacus==1.6.0", "torch==2.13.0"),
}
"""What pip installs; an index or folder with CPU builds of torch is pip's to know (PIP_INDEX_URL,
PIP_FIND_LINKS)."""

Fit = dict[str, Any]
Fits = dict[str, list[Fit]]


def make_environments(folder: Path, python: str) -> None:
    """Make each library's environment in ``folder``, unless it is there."""
    for name, packages in LIBRARIES.items():
        if not has_environment(folder, name):
            subprocess.run([python, "-m", "venv", "--clear", str(folder / name)], check=True)
            pip = [str(_python(folder, name)), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, *packages], check=True)


def _python(folder: Path, name: str) -> Path:
    return folder / name / "bin" / "python"


def has_environment(folder: Path | None, name: str) -> bool:
    return folder is not None and any((folder / name).glob(f"lib/*/site-packages/{name}"))


def own_fit(train: Dataset, test: Dataset, settings: Settings) -> Fit:
    wall, cpu = time.perf_counter(), time.process_time()
    model = Run(make_plan(settings), train, kept_fraction=1 - 1 / FOLDS).model()
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    details = model.details
    steps = {
        "steps": details.get("steps_taken", details.get("steps")),
        "again": details.get("gradients_remeasured", 0),
    }
    right = (encoded_rows(test, model.schema).X.tocsr() @ model.w > 0) == (test.y > 0)
    return {**seconds, **steps, "accuracy": 100 * float(right.mean())}


def own_settings(epsilon: float) -> dict[str, Settings]:
    """Return the settings to time: the default, which is auto, dp-agd, and dp-agd's STEPS planned
    steps, on one thread and all."""
    every = sorted({1, LocalEngine.available_threads()})
    forms: dict[str, dict[str, Any]] = {
        OURS: {},
        "dp-agd": {"algo": "dp-agd"},
        f"dp-agd, steps={STEPS}": {"algo": "dp-agd", "params": {"steps": STEPS}},
    }
    return {
        name if threads == 1 else f"{name}, {threads} threads": Settings(
            epsilon=epsilon, delta=DELTA, threads=threads, **form
        )
        for threads in every
        for name, form in forms.items()
    }


def other_fits(name: str, folder: Path, rows: Sequence[Path], epsilon: float) -> Fits:
    """Return the fits of one library to each file of rows, by setting, from a process of its
    own."""
    script = Path(__file__).with_name("others") / f"{name}_fit.py"
    options = ["--epsilon", str(epsilon), "--delta", str(DELTA), "--repeats", "1"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [str(_python(folder, name)), str(script), *map(str, rows), *options],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{script.name} failed:\n{done.stderr}")
    found: Fits = defaultdict(list)
    for fit in json.loads(done.stdout):
        found[f"{name}, {fit['setting']}"].append(fit)
    return found


def save_rows(path: Path, train: Dataset, test: Dataset) -> None:
    """Write the encoded rows without the intercept's column, dense float64, and their bound."""
    matrices = {"X_train": train.X.toarray()[:, :-1], "X_test": test.X.toarray()[:, :-1]}
    norm = np.sqrt(train.row_norm**2 - 1.0)
    np.savez(path, y_train=train.y, y_test=test.y, data_norm=norm, **matrices)


def measure(folder: Path | None, epsilon: float, rounds: int, repeats: int) -> Fits:
    dataset = load_registry().load("dataset", "adult")()
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    folds = fold_numbers("adult", dataset.X.shape[0], FOLDS, relation, key=None)
    held_out = folds == FOLDS - 1
    train, test = dataset.take(~held_out), dataset.take(held_out)
    settings, fits = own_settings(epsilon), defaultdict(list)
    for form in settings.values():
        own_fit(train, test, form)
    with tempfile.TemporaryDirectory() as scratch:
        rows = Path(scratch) / "rows.npz"
        save_rows(rows, train, test)
        for _ in range(rounds):
            for _ in range(repeats):
                for name, form in settings.items():
                    fits[name].append(own_fit(train, test, form))
            for name in LIBRARIES:
                if folder is not None and has_environment(folder, name):
                    for setting, found in other_fits(name, folder, [rows], epsilon).items():
                        fits[setting] += found
    return fits


def report(fits: Fits, epsilon: float) -> None:
    medians = {
        name: {key: float(np.median([fit[key] for fit in found])) for key in ("wall", "cpu")}
        for name, found in fits.items()
    }
    print(f"adult, four folds of five, epsilon {epsilon:g}, delta {DELTA:g} (diffprivlib: 0):")
    print("median seconds of a warm fit, their ratios to those of dpcore's default on one thread,")
    print(f"mean accuracy in % on the fifth fold; steps taken, and seconds per {STEPS} of them")
    print(f"{'':<40}{'wall':>7}{'CPU':>7}{'ratios':>14}{'accuracy':>10}{'fits':>6}{'steps':>7}")
    ours = medians[OURS]
    for name, found in fits.items():
        here = medians[name]
        ratios = " / ".join(f"{here[key] / ours[key]:.2f}" for key in ("wall", "cpu"))
        mean = np.mean([fit["accuracy"] for fit in found])
        line = f"{name:<40}{here['wall']:>7.3f}{here['cpu']:>7.3f}{ratios:>14}{mean:>10.2f}"
        print(f"{line}{len(found):>6}{_steps(found)}")
    _print_verdicts(fits, medians)


def _steps(found: list[Fit]) -> str:
    if "steps" in found[0]:
        again = np.mean([fit["again"] for fit in found])
        steps = np.mean([fit["steps"] for fit in found])
        return f"{steps:>7.0f} + {again:.0f} measured again: {_per_steps(found, 'wall'):.3f} s"
    if "planned" in found[0]:
        return f"        {np.median([f['planned'] for f in found]):.2f} s of them to find the noise"
    return ""


def _per_steps(found: list[Fit], clock: str) -> float:
    """Return median seconds per STEPS steps, all that a fit does beside its steps included."""
    return float(np.median([STEPS * fit[clock] / fit["steps"] for fit in found]))


def _print_verdicts(fits: Fits, medians: dict[str, dict[str, float]]) -> None:
    print()
    for name, found in fits.items():
        if "steps" in found[0]:
            wall, cpu = (_per_steps(found, clock) for clock in ("wall", "cpu"))
            print(
                f"{name}: {wall:.3f} s, {cpu:.3f} s of CPU for {STEPS} steps "
                f"(to reach: {SECONDS_TO_REACH} or less)"
            )
    for library in LIBRARIES:
        settings = {name: found for name, found in fits.items() if name.startswith(library)}
        if settings:
            mean = {n: np.mean([fit["accuracy"] for fit in f]) for n, f in settings.items()}
            for what, name in (
                ("fastest", min(settings, key=lambda n: medians[n]["cpu"])),
                ("most accurate", max(settings, key=lambda n: mean[n])),
            ):
                ratio = medians[name]["cpu"] / medians[OURS]["cpu"]
                print(f"{name} ({what}): {ratio:.2f} times dpcore's CPU time (to reach: above 1)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--make-environments", type=Path, metavar="FOLDER")
    parser.add_argument("--environments", type=Path, metavar="FOLDER")
    parser.add_argument("--python", default=sys.executable, help="for new environments")
    parser.add_argument("--epsilon", type=float, default=0.4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=4, help="fits of dpcore in a round")
    chosen = parser.parse_args()
    if chosen.make_environments is not None:
        make_environments(chosen.make_environments, chosen.python)
    folder = chosen.environments or chosen.make_environments
    report(measure(folder, chosen.epsilon, chosen.rounds, chosen.repeats), chosen.epsilon)
    absent = [name for name in LIBRARIES if not has_environment(folder, name)]
    if absent:
        print(
            f"\nNot measured, without an environment: {', '.join(absent)}. Make them with "
            "--make-environments FOLDER --python PYTHON, a Python that torch 2.13.0 is built for."
        )


if __name__ == "__main__":
    main()
