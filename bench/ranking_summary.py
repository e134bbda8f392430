"""Mean ranks of the fits of ranking.py, their tests and their picture."""

from __future__ import annotations

import csv
import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, wilcoxon

__all__ = ["COLUMNS", "Ranking", "draw", "holm", "print_summary", "ranking_of", "rows_of"]

COLUMNS = (
    "table", "use", "task", "rows", "features", "algorithm", "epsilon", "repeat", "accuracy", "auc",
    "log_loss", "calibration_slope", "r2", "seconds", "cpu_seconds", "memory_mb", "status",
    "message",
)  # fmt: skip
CONTROL, REFERENCES = "auto", ("constant", "nonprivate")
MEASURES = {"accuracy": 1, "auc": 1, "log_loss": -1, "r2": 1}
"""Whether more is better."""
OF_TASK = {"classes": ("accuracy", "auc", "log_loss"), "number": ("r2",)}
DRAWN = ("accuracy", "auc", "r2")
IN_WORDS = {"accuracy": "accuracy", "auc": "area under the ROC curve", "r2": "R2",
            "log_loss": "log loss"}  # fmt: skip
LEVEL = 0.05
Row = Mapping[str, str]


def rows_of(path: Path) -> list[Row]:
    """Return the whole rows of a file of fits, none where it is not there; a line that was cut
    short is taken off it."""
    if not path.is_file():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return list(csv.DictReader(whole.splitlines()))


@dataclass(frozen=True)
class Ranking:
    """Mean ranks by one measure.

    Parameters
    ----------
    tables, epsilons : that the ranks are of.
    ranks : of each algorithm, for each table, averaged over epsilon.
    p : of each algorithm but the control, by Wilcoxon's test against it, after Holm's correction.
    short : algorithms that were not run on all of them, with the number of cells they have.
    """

    measure: str
    tables: tuple[str, ...]
    epsilons: tuple[str, ...]
    ranks: dict[str, np.ndarray]
    p: dict[str, float]
    short: dict[str, int]

    def in_order(self) -> list[str]:
        return sorted(self.ranks, key=lambda name: float(self.ranks[name].mean()))


def ranking_of(rows: Sequence[Row], measure: str) -> Ranking | None:
    """Return the ranking of reporting tables by a measure, ``None`` where nothing was run.

    A table counts at the epsilons that the control was run at, and an algorithm where it was run
    at all of these.
    """
    task = next(task for task, measures in OF_TASK.items() if measure in measures)
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if (row["use"], row["task"]) == ("reporting", task) and row["algorithm"] not in REFERENCES:
            worst = -math.inf
            value = MEASURES[measure] * float(row[measure]) if row[measure] else worst
            found[row["table"], row["epsilon"]][row["algorithm"]].append(value)
    cells = {key: of for key, of in found.items() if CONTROL in of}
    if not cells:
        return None
    known = dict.fromkeys(name for of in cells.values() for name in of)
    counts = {name: sum(name in of for of in cells.values()) for name in known}
    names = [name for name, count in counts.items() if count == len(cells)]
    ranks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (table, _), of in cells.items():
        means = [-float(np.mean(of[name])) for name in names]
        for name, rank in zip(names, rankdata(means), strict=True):
            ranks[table][name].append(float(rank))
    tables = tuple(sorted(ranks))
    of_names = {n: np.array([np.mean(ranks[table][n]) for table in tables]) for n in names}
    epsilons = tuple(sorted({epsilon for _, epsilon in cells}, key=float))
    short = {name: count for name, count in counts.items() if name not in names}
    return Ranking(measure, tables, epsilons, of_names, _tests(of_names), short)


def _tests(ranks: Mapping[str, np.ndarray]) -> dict[str, float]:
    others = [name for name in ranks if name != CONTROL]
    raw = []
    for name in others:
        difference = ranks[name] - ranks[CONTROL]
        raw.append(float(wilcoxon(difference).pvalue) if np.any(difference) else 1.0)
    return dict(zip(others, holm(raw), strict=True))


def holm(values: Sequence[float]) -> list[float]:
    """Return p values after Holm's correction (1979), in their order."""
    adjusted, most = [1.0] * len(values), 0.0
    for step, place in enumerate(np.argsort(values, kind="stable")):
        most = max(most, min(1.0, (len(values) - step) * values[place]))
        adjusted[place] = most
    return adjusted


def print_summary(rows: Sequence[Row]) -> None:
    """Print the rankings, and means of all metrics."""
    used = {row["table"] for row in rows if row["use"] == "reporting"}
    repeats = {int(row["repeat"]) for row in rows}
    print(f"{len(rows)} fits; tables of the ranking, on which no constant was chosen: {len(used)}")
    print(f"repeats: {len(repeats)} at most")
    for measure in MEASURES:
        ranking = ranking_of(rows, measure)
        if ranking is None:
            continue
        epsilons = ", ".join(ranking.epsilons)
        print(f"\nby {IN_WORDS[measure]}: {len(ranking.tables)} tables, epsilon {epsilons}")
        for name in ranking.in_order():
            told = f"p {ranking.p[name]:.3g}" if name in ranking.p else ""
            print(f"  {name:<22}{ranking.ranks[name].mean():6.2f}  {marks_of(name):<34}{told}")
        for name, count in ranking.short.items():
            print(f"  {name}: not ranked, run on {count} cells; {_beside(rows, name, measure)}")
    _print_means(rows)


def marks_of(name: str) -> str:
    """Return the marks of an algorithm, but for that it is not ours."""
    from dpcore_others import ALGORITHMS

    facts = ALGORITHMS[name][2] if name in ALGORITHMS else {}
    marks = ["pure"] * facts.get("pure", False)
    marks += [facts["relation"]] if "relation" in facts else []
    marks += ["bounds from the data"] * facts.get("bounds_from_data", False)
    return ", ".join(marks)


def _beside(rows: Sequence[Row], name: str, measure: str) -> str:
    """Return an algorithm's mean difference to the control, where both have a metric."""
    cells: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["use"] == "reporting" and row["algorithm"] in (name, CONTROL) and row[measure]:
            cells[row["table"], row["epsilon"]][row["algorithm"]].append(float(row[measure]))
    found = [np.mean(of[name]) - np.mean(of[CONTROL]) for of in cells.values() if len(of) == 2]
    return f"{np.mean(found):+.4f} against auto on {len(found)}" if found else "no metrics"


def _print_means(rows: Sequence[Row]) -> None:
    """Print means over reporting tables of what each algorithm has."""
    heads = ("accuracy", "auc", "log_loss", "calibration_slope", "r2", "seconds", "cpu_seconds",
             "memory_mb")  # fmt: skip
    print(f"\n{'':<22}{'eps':>5}" + "".join(f"{head[:11]:>12}" for head in heads) + "  ended")
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["use"] == "reporting":
            groups[row["task"], row["epsilon"], row["algorithm"]].append(row)
    for (_, epsilon, name), of in sorted(groups.items()):
        line = f"{name:<22}{epsilon:>5}"
        for head in heads:
            values = [float(row[head]) for row in of if row[head]]
            middle = np.median if head == "calibration_slope" else np.mean
            line += f"{middle(values):>12.3f}" if values else f"{'':>12}"
        ends = defaultdict(int)
        for row in of:
            ends[row["status"]] += 1
        print(line + "  " + ", ".join(f"{count} {status}" for status, count in ends.items()))


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write a picture of mean ranks: hollow where a test tells an algorithm from auto."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    from dpcore_lab.compare.svg import STYLE, svg_of

    plt.rcParams.update({**STYLE, "font.size": 9})
    found = [ranking for m in DRAWN if (ranking := ranking_of(rows, m)) is not None]
    most = max(len(ranking.ranks) for ranking in found)
    figure, axes = plt.subplots(1, len(found), figsize=(3.6 * len(found), 0.8 + 0.3 * most))
    for axis, ranking in zip(np.atleast_1d(axes), found, strict=True):
        names = ranking.in_order()[::-1]
        for place, name in enumerate(names):
            told = ranking.p.get(name, 1.0) < LEVEL
            colour = "#332288" if name == CONTROL else "#44AA99"
            mean = float(ranking.ranks[name].mean())
            axis.plot(mean, place, "o", color=colour, mfc="white" if told else colour)
        axis.set_yticks(range(len(names)), [_named(name) for name in names])
        axis.set_xlim(0.5, len(names) + 0.5)
        axis.grid(axis="x", lw=0.4)
        axis.set_title(f"by {IN_WORDS[ranking.measure]}, {len(ranking.tables)} tables", fontsize=9)
        axis.set_xlabel("mean rank, 1 is best")
    figure.tight_layout()
    path.write_bytes(svg_of(figure))
    plt.close(figure)


def _named(name: str) -> str:
    marks = marks_of(name)
    return f"{name}\n({marks})" if marks else name


sys.path.insert(0, str(Path(__file__).with_name("others")))
