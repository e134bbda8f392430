"""The file of a violation: all that it takes to count again, on anyone's machine.

It has the request, the set of outcomes, the numbers of the runs and the two tables. The tables are
made rows, written down to be looked at: a repetition makes them again, and says so if this version
makes others.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import __version__
from dpcore.audit.fits import Fits, Request
from dpcore.audit.pairs import Pair
from dpcore.audit.processes import OnRuns, drawing, no_note
from dpcore.audit.statistic import Statistic
from dpcore.audit.two_world import Finding, count_again
from dpcore.errors import InvalidInputError

__all__ = ["again", "save"]

_FORMAT = 1


def save(path: Path, fits: Fits, finding: Finding) -> None:
    """Write down a finding and its pair of tables."""
    told = {
        "format": _FORMAT,
        "dpcore": __version__,
        "request": dataclasses.asdict(fits.request),
        "pair": finding.pair,
        "tables": _tables(fits.pairs[finding.pair]),
        "statistic": _plain(finding.statistic),
        "first": finding.first,
        "runs": finding.counts.runs,
        "counts": dataclasses.asdict(finding.counts),
        "claim": dataclasses.asdict(finding.claim),
    }
    path.write_text(json.dumps(told, indent=1) + "\n")


def again(path: Path, jobs: int = 1, on_runs: OnRuns = no_note) -> tuple[Fits, Finding]:
    """Return the fits of a file, and what its set of outcomes shows when it is counted anew: with
    a seed the same runs, else as many fresh ones.

    Raises InvalidInputError for what is no such file, and where its tables are not made any more.
    """
    if not path.is_file():
        raise InvalidInputError(f"No such file: {path}.")
    try:
        told = json.loads(path.read_text())
        known = isinstance(told, dict) and told["format"] == _FORMAT
        request = Request(**told["request"])
        line = {name: _array(value) for name, value in told["statistic"].items()}
        statistic, numbers = Statistic(**line), (int(told["first"]), int(told["runs"]))
        place, tables = int(told["pair"]), told["tables"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{path} is no file of an audit that this dpcore reads.") from error
    fits = Fits(request)
    if not known or place >= len(fits.pairs) or _tables(fits.pairs[place]) != tables:
        raise InvalidInputError(f"{path} has tables that this dpcore does not make.")
    with drawing(fits, jobs, on_runs) as draw:
        return fits, count_again(fits.claim, draw, place, statistic, numbers)


def _tables(pair: Pair) -> dict[str, Any]:
    sides = {"here": pair.here, "there": pair.there}
    return {"words": pair.words} | {name: _plain(side) for name, side in sides.items()}


def _plain(value: Any) -> dict[str, Any]:
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


def _array(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value
