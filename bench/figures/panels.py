"""The comparisons of the figures: run once and kept, and drawn by `dpcore_lab.compare`.

Every figure is one or more comparisons that `dpcore compare` could make as well. Fits are kept as
Parquet in the folder of `--results`, all of one commit, and a script that is called again draws
what it finds. Their means are kept as CSV in `bench/results/figures`, from which figures and the
tables of pages are made; without `--results` a script draws those.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from committed import commit_of, made_in
from kept_means import draw_means, write_means

from dpcore.errors import DpcoreError
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.results import read_results
from dpcore_lab.compare.runner import run
from dpcore_lab.compare.settings import REFERENCES, Comparison
from dpcore_tables.datasets.beside import FILES
from dpcore_tables.datasets.fetch import DATA_DIR_VARIABLE

EPSILONS = {
    "a9a": (0.05, 0.1, 0.2, 0.4, 0.8, 1.6),
    "bank": (0.05, 0.1, 0.2, 0.4, 0.8, 1.6),
    "kddcup99-10": (0.05, 0.2, 0.8),
    "ipums-br": (0.05, 0.1, 0.2, 0.4, 0.8, 1.6),
    "ipums-us": (0.05, 0.1, 0.2, 0.4, 0.8, 1.6),
}
"""Data set -> budgets; a fit of the largest takes as long as ten of the others."""
_ON_IT = "defaults were developed on it"
DEVELOPED_ON = {
    "adult": _ON_IT,
    "bank": _ON_IT,
    "census-sim": _ON_IT,
    "a9a": "adult recoded, on which defaults were developed",
}
"""What the panel of a data set says beside its name. Source: docs/guarantee.md, "Constants of
default parameters were developed on", and `defaults.py` of the plugins. a9a had no part itself, but
its rows are Adult's."""
QUICK = "bank"
"""The smallest data set."""
Row = dict[str, Any]
TASKS = ("logistic", "svm", "ridge")
HERE = Path(__file__).parent
KEPT = HERE.parent / "results" / "figures"
LARGEST = "kddcup99-10"
REDUCED = (
    "REDUCED to 15 minutes: three folds and two budgets, a fifth of the runs, "
    f"or times of two sizes; DP-AGD is not fitted to {LARGEST}."
)


@dataclass(frozen=True)
class Run:
    """How a script was called.

    Parameters
    ----------
    results : folder of the Parquet files; ``None`` to draw what is kept.
    kept : folder of the CSV files.
    pictures : folder of the SVG files.
    quick : two folds, the least epsilon, one repeat: to see that it works, not to read.
    reduced : three folds, two epsilons: the shape of a figure.
    jobs : processes.
    data, tasks : what was asked for of a script's data sets and losses; none for all.
    """

    results: Path | None
    kept: Path
    pictures: Path
    quick: bool
    reduced: bool
    jobs: int
    data: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What every figure says that is not of the whole comparison."""
        return "QUICK: to see that it works" if self.quick else REDUCED if self.reduced else ""

    def some(self, data: Iterable[str]) -> tuple[str, ...]:
        """Return the data sets, of which the smallest does if it has to be quick: those asked for,
        or all but files that the user has to bring and that are not there."""
        if self.quick:
            return (QUICK,)
        if self.data:
            return tuple(name for name in data if name in self.data)
        return tuple(filter(is_there, data))

    def leaves_out(self, name: str) -> bool:
        """Return whether a reduced run leaves a data set out where its fits take as long as all
        others: the largest, unless it was asked for by name."""
        return self.reduced and not self.data and name == LARGEST

    def of(self, tasks: Mapping[str, str]) -> dict[str, str]:
        """Return the losses that were asked for, of which the first does if it has to be quick."""
        asked = {k: loss for k, loss in tasks.items() if not self.tasks or k in self.tasks}
        return dict(list(asked.items())[:1]) if self.quick else asked

    def fits(self) -> Path:
        """Return the folder of the fits, where there is one."""
        if self.results is None:
            raise SystemExit("This needs --results FOLDER.")
        return self.results


def is_there(name: str) -> bool:
    """Return whether a data set can be had, or its file is in the folder of data."""
    file = FILES.get(name)
    return file is None or (Path(os.environ.get(DATA_DIR_VARIABLE) or ".") / file.name).is_file()


def asked(doc: str | None, arguments: Sequence[str] | None = None) -> Run:
    """Return what the command line asks for."""
    chosen = parser_of(doc).parse_args(arguments)
    results = chosen.results
    if results is None and (chosen.quick or chosen.reduced or chosen.data):
        raise SystemExit("Fits of a part need --results FOLDER.")
    # What is committed is whole.
    whole = not (chosen.quick or chosen.reduced or chosen.data)
    pictures = chosen.pictures or (HERE if whole else results)
    kept = chosen.kept or (KEPT if whole else results)
    for folder in filter(None, (results, pictures, kept)):
        folder.mkdir(parents=True, exist_ok=True)
    asked_for = tuple(chosen.data), tuple(chosen.task)
    # A few fits of a second each take less than to start processes for them.
    jobs = 1 if chosen.quick else chosen.jobs
    return Run(results, kept, pictures, chosen.quick, chosen.reduced, jobs, *asked_for)


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return the options that all scripts have."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, help="folder of the fits; none: draw what is kept")
    parser.add_argument("--kept", type=Path, help="folder of the CSV files; default: ../results")
    parser.add_argument("--pictures", type=Path, help="folder of the pictures; default: here")
    how_much = parser.add_mutually_exclusive_group()
    quick = f"few fits, of {QUICK} whatever --data says; all files go to --results"
    how_much.add_argument("--quick", action="store_true", help=quick)
    reduced = "few folds and budgets, as figures say; all files go to --results"
    how_much.add_argument("--reduced", action="store_true", help=reduced)
    parser.add_argument("--jobs", type=int, default=2)
    some = {"action": "append", "default": []}
    of_these = "of these alone; repeat it; all files go to --results"
    parser.add_argument("--data", **some, choices=[*EPSILONS, "adult"], help=of_these)
    parser.add_argument("--task", **some, choices=TASKS, help="of these alone; repeat it")
    return parser


def results_of(name: str, comparison: Comparison, how: Run) -> list[Row]:
    """Return the rows of a comparison, of as many of its algorithms as fit it."""
    if how.quick:
        # Where the budget is small, so is the number of steps.
        least = comparison.epsilons[:1]
        comparison = replace(comparison, epsilons=least, folds=2, repeats=1)
    elif how.reduced:
        step = -(-len(comparison.epsilons) // 2)
        comparison = replace(comparison, epsilons=comparison.epsilons[::step], folds=3)
    path = how.fits() / f"{name}.parquet"
    made = made_in(how.fits())
    if path.exists():
        return _kept_rows(path, comparison)
    if not made["commit"].startswith(commit_of()):
        print(f"{name}: missing; other fits of {how.fits()} are of commit {made['commit']}")
        return []
    started = time.perf_counter()
    admitted = admitted_of(comparison)
    if admitted is None:
        return []
    results = run(admitted, path, how.jobs)
    print(f"{name}: {len(results.rows)} fits, {time.perf_counter() - started:.0f} s", flush=True)
    failed = {
        (row["algorithm"], row["message"]) for row in results.rows if row["status"] != "fitted"
    }
    for algorithm, message in sorted(failed):
        print(f"  failed: {algorithm}: {message}")
    return [dict(row) for row in results.rows]


def _kept_rows(path: Path, comparison: Comparison) -> list[Row]:
    """Return the rows of fits that are kept; SystemExit for another number of fits."""
    found, asked = read_results(path), comparison.to_dict()
    if any(found.settings[name] != asked[name] for name in ("epsilons", "folds", "repeats")):
        raise SystemExit(f"{path} has other epsilons, folds or repeats: choose another --results.")
    print(f"{path.stem}: {len(found.rows)} fits are kept", flush=True)
    return [dict(row) for row in found.rows]


def fits_of(name: str, comparison: Comparison, how: Run) -> list[Row]:
    """Return the rows of a comparison beside another: those of its algorithms alone."""
    rows = results_of(name, comparison, how)
    return [row for row in rows if row["algorithm"] not in REFERENCES]


def admitted_of(comparison: Comparison) -> Comparison | None:
    """Return the comparison of the algorithms that fit it, if any, and print why others are left
    out."""
    with suppress(DpcoreError):
        return admit(comparison)[0]
    kept = []
    for label in comparison.algorithms:
        try:
            admit(_of((label,), comparison))
        except DpcoreError as error:
            print(f"  left out {label}: {error}")
        else:
            kept.append(label)
    return admit(_of(kept, comparison))[0] if kept else None


def _of(labels: Sequence[str], comparison: Comparison) -> Comparison:
    """Return the comparison of some of its algorithms, with what is set of them."""
    params = {name: given for name, given in comparison.params.items() if name in labels}
    return replace(comparison, algorithms=tuple(labels), params=params)


def publish(
    name: str,
    fits: Callable[[], list[Row]],
    settings: Comparison,
    how: Run,
    note: str = "",
    remarks: Mapping[str, str] = DEVELOPED_ON,
    about: str | None = None,
) -> None:
    """Keep the means of fits as NAME.csv, if fits were asked for, and draw NAME-accuracy.svg and
    NAME-objective.svg from there.

    ``note`` : a sentence below the pictures. ``remarks`` : words beside the name of a data set.
    ``about`` : the algorithm that the figure is about.
    """
    path = how.kept / f"{name}.csv"
    if how.results is not None:
        rows = fits()
        if not rows:
            print(f"{name}: no fits")
            return
        write_means(path, rows, settings.to_dict(), made_in(how.results))
    if path.exists():
        notes = " ".join(filter(None, (how.note, note)))
        draw_means(path, how.pictures, notes, remarks, about)
        print(f"{name}: drawn", flush=True)
