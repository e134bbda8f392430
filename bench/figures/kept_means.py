"""Means of a comparison as a CSV file, one row for each data set, algorithm and epsilon, and from
there to pictures.

Of each measure there are the mean and the half width of its 95 % interval; accuracies are in %. The
column epsilon is empty for a reference, which is fitted without privacy. A picture ends with the
SHA-256 of the file that it was drawn from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from committed import Row, read, write
from looks import look_of

from dpcore_lab.compare.figure import write_figure
from dpcore_lab.compare.table import Mean, means_of

__all__ = ["MEASURES", "draw_means", "read_means", "sign", "signature_of", "write_means"]

MEASURES = ("accuracy", "objective")
_SETTINGS = ("loss", "delta", "relation", "l2", "trust")
_DIGITS = {"accuracy": "{:.3f}", "objective": "{:.4g}"}


def write_means(
    path: Path,
    fits: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    made: Mapping[str, str],
) -> None:
    """Write the means of fits, with commit and command of the fits and the figure's settings."""
    first: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for fit in fits:
        first.setdefault((fit["data"], fit["algorithm"], fit["epsilon"]), fit)
    found = {
        measure: {(m.data, m.algorithm, m.epsilon): m for m in means_of(fits, measure)}
        for measure in MEASURES
    }
    rows = []
    for (data, algorithm, epsilon), fit in first.items():
        of = {measure: found[measure][data, algorithm, epsilon] for measure in MEASURES}
        row = {"data": data, "algorithm": algorithm}
        row["epsilon"] = "" if epsilon is None else f"{epsilon:g}"
        row["loss"] = fit["loss"] or settings["loss"]
        for measure, mean in of.items():
            row[measure] = _text(mean.mean, measure)
            row[f"{measure} ±"] = _text(mean.half_width, measure)
        whole = of["accuracy"]
        row |= {"fits": str(whole.fits), "failed": str(whole.failed)}
        rows.append(row | {"private": "no" if whole.unsound or epsilon is None else "yes"})
    told = {name: settings[name] for name in _SETTINGS if settings.get(name) is not None}
    write(path, rows, {**made, "settings": json.dumps(told)})


def _text(value: float | None, measure: str) -> str:
    return "" if value is None else _DIGITS[measure].format(value)


def read_means(path: Path, measure: str) -> tuple[dict[str, Any], list[Mean]]:
    """Return the figure's settings and the means of a measure."""
    said, rows = read(path)
    return json.loads(said["settings"]), [_mean(row, measure) for row in rows]


def _mean(row: Row, measure: str) -> Mean:
    numbers = [row[name] for name in ("epsilon", measure, f"{measure} ±")]
    epsilon, mean, half_width = (float(text) if text else None for text in numbers)
    unsound = row["private"] == "no" and epsilon is not None
    fits = int(row["fits"]), int(row["failed"])
    return Mean(row["data"], row["algorithm"], epsilon, mean, half_width, *fits, unsound)


def draw_means(
    path: Path,
    pictures: Path,
    note: str,
    remarks: Mapping[str, str],
    about: str | None = None,
) -> None:
    """Write NAME-accuracy.svg and NAME-objective.svg of NAME.csv.

    ``note`` : a sentence below the pictures. ``remarks`` : words beside the name of a data set.
    ``about`` : the algorithm that the figure is about, whose lines are wider; none where lines are
    not of algorithms.
    """
    for measure in MEASURES:
        settings, means = read_means(path, measure)
        labels = {mean.algorithm for mean in means if mean.epsilon is not None}
        looks = {label: look_of(label, about) for label in labels} if about else {}
        out = pictures / f"{path.stem}-{measure}.svg"
        write_figure(out, means, settings, measure, remarks=remarks, note=note, looks=looks)
        sign(out, path)


def sign(picture: Path, source: Path) -> None:
    """End a picture with the name and the SHA-256 of the file that it is drawn from."""
    picture.write_bytes(picture.read_bytes().rstrip() + f"\n{signature_of(source)}\n".encode())


def signature_of(source: Path) -> str:
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    return f"<!-- drawn from {source.name}, SHA-256 {digest} -->"
