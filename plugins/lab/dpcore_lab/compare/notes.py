"""Notes below a table of means: sentences about its fits that the table does not show."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpcore.plugin.parts import exact
from dpcore_lab.compare.results import foreign_parts_of
from dpcore_lab.compare.settings import CAPPED
from dpcore_lab.compare.table import EXACT, Mean, means_of

__all__ = ["all_failed", "left_out_for", "notes_of"]

_THEM = "\0"
"""In the place of an algorithm's name, to tell whether two reasons are one."""


def left_out_for(reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each distinct reason with all that it leaves out, by label."""
    alike: dict[str, list[str]] = {}
    for label, why in reasons.items():
        name = re.escape(label.partition(":")[0])
        alike.setdefault(re.sub(rf"(?<![\w-]){name}(?![\w-])", _THEM, why), []).append(label)
    for why, labels in alike.items():
        yield f"{', '.join(labels)}: {why.replace(_THEM, 'it' if len(labels) == 1 else 'each')}"


def notes_of(
    rows: Sequence[Mapping[str, Any]],
    means: Sequence[Mean],
    params: Mapping[str, Mapping[str, str]] | None = None,
) -> list[str]:
    """Return notes on a comparison. They say what stood for a name that chooses, which kept to
    lines, which fits failed, reached a cap or had no rows to measure on, which are worse than a
    constant, and what the guarantees ask for beside their numbers. ``params`` : by algorithm, what
    was set."""
    told = (
        _chosen(rows),
        _lines(rows, params or {}),
        _failures(rows),
        _guarantees(rows),
        _untested(means),
        _below_constant(rows),
        _units(rows),
        _provisos(rows),
    )
    return [note for notes in told for note in notes]


def all_failed(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the algorithms without a fit that succeeded."""
    fitted = {row["algorithm"] for row in rows if row["status"] != "failed"}
    return list(dict.fromkeys(r["algorithm"] for r in rows if r["algorithm"] not in fitted))


def _chosen(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    pairs = dict.fromkeys((row["algorithm"], row.get("chosen")) for row in rows)
    for algorithm, chosen in pairs:
        if chosen:
            yield f"{algorithm} stood for {chosen}."


def _lines(
    rows: Sequence[Mapping[str, Any]], params: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Yield which fits of two classes would have had curves by themselves elsewhere."""
    kept = [
        row["algorithm"]
        for row in rows
        if row.get(f"{EXACT}accuracy") is not None and row.get(f"{EXACT}macro_f1") is None
        if json.loads(row.get("parameters") or "{}").get("curves") == "auto"
        if "curves" not in params.get(row["algorithm"], {})
    ]
    if kept:
        yield (
            f"{_listed(kept)}: numbers stayed lines, on equal terms with others. dpcore train "
            "takes curves where the signal bears them, and so does "
            f"--set {kept[0]}.curves=auto here."
        )


def _failures(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for status, heading in (("failed", "Failed"), (CAPPED, "Reached a cap")):
        ended = [row for row in rows if row["status"] == status]
        reasons = Counter((row["algorithm"], row["message"]) for row in ended)
        for (algorithm, message), count in reasons.items():
            yield f"{heading}: {algorithm}, {count} fit{'s' * (count > 1)}: {message}"


def _guarantees(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name, told in dict.fromkeys((row["algorithm"], row.get("guarantee")) for row in rows):
        if told:
            yield f"{name}: {told}."


def _untested(means: Sequence[Mean]) -> Iterator[str]:
    for data in dict.fromkeys(mean.data for mean in means):
        of_data = [mean for mean in means if mean.data == data]
        if count := sum(mean.untested for mean in of_data):
            made = sum(mean.made for mean in of_data)
            yield (
                f"{data}: {count} of {made} fits had no row to measure on; means and intervals are "
                "of the others."
            )


def _below_constant(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not any(row.get(f"{EXACT}accuracy") is not None for row in rows):
        return
    means = means_of(rows, "accuracy")
    constants = {m.data: m.mean for m in means if m.algorithm == "majority" and m.mean is not None}
    for data, constant in constants.items():
        below = [
            f"{m.algorithm} at epsilon {exact(m.epsilon)} ({m.mean:.2f} %)"
            for m in means
            if m.epsilon is not None and m.mean is not None
            if m.data == data and m.mean < constant
        ]
        if below:
            yield (
                f"{data}: below the constant model, the commoner class for every row "
                f"({constant:.2f} %): {_listed(below)}."
            )


def _units(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    pairs = dict.fromkeys((row["data"], row.get("unit_of_protection")) for row in rows)
    for data, unit in pairs:
        if unit is not None and unit != "one row":
            yield f"{data}: protected, and on one side of a fold: {unit}."


def _provisos(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    most: dict[int, list[str]] = {}
    parts: dict[str, list[str]] = {}
    for row in rows:
        if row.get("most_rows") is not None:
            most.setdefault(row["most_rows"], []).append(row["algorithm"])
        for part in foreign_parts_of(row):
            parts.setdefault(part, []).append(row["algorithm"])
    for number, names in sorted(most.items()):
        yield f"The guarantee of {_listed(names)} is for tables of at most {number:,} rows."
    by_names: dict[str, list[str]] = {}
    for part, names in sorted(parts.items()):
        by_names.setdefault(_listed(names), []).append(part)
    for listed, theirs in by_names.items():
        shown = ", ".join(theirs)
        yield f"Parts of {listed} that are not from dpcore and have to be right: {shown}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
