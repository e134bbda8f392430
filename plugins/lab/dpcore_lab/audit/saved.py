"""The file of a violation: all that it takes to count again, on anyone's machine.

It has the request, so that all that was made is made again, and what to look at. Of final models
these are the two tables, the set of outcomes and the numbers of the runs, which are counted again;
of releases the exact answers, or rows, of two neighbours, on which noise is drawn again; of one run
which of the made rows were in the table. Where this version of dpcore makes other tables or answers
than the file has, a repetition says so.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.errors import InvalidInputError, replacing
from dpcore_lab.audit.claim import Claim, Counts
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.statistic import Statistic
from dpcore_lab.audit.two_world import Finding

if TYPE_CHECKING:
    from dpcore_lab.audit.one_run import Guesses
    from dpcore_lab.audit.pairs import Pair
    from dpcore_lab.audit.releases import Audited

__all__ = ["Saved", "load", "save_releases", "save_rows", "save_worlds"]

_FORMAT = 2
_CLOSE = 1e-6
"""How far numbers that are made again may be from the file's, for other machines' last digits."""


@dataclasses.dataclass(frozen=True)
class Saved:
    """A file that was read: what was asked, how, and all that it has."""

    fits: Fits
    method: str
    told: dict[str, Any]

    @property
    def runs(self) -> int:
        return int(self.told["runs"])

    def finding(self) -> Finding:
        """Return the finding of two worlds; InvalidInputError if its tables are not made any
        more."""
        found = _finding(self.told)
        pairs = self.fits.pairs
        if found.pair >= len(pairs) or _tables(pairs[found.pair]) != self.told["tables"]:
            raise _other("tables")
        return found

    def require_answers(self, found: list[Audited]) -> None:
        """Raise InvalidInputError unless releases were drawn on the answers of the file."""
        made = {one.release.name: one.release.answers for one in found}
        for told in self.told["releases"]:
            pair, answers = told["finding"]["pair"], made.get(told["release"])
            if answers is None or not _are_alike(answers(pair), told["answers"]):
                raise _other("answers")


def save_worlds(path: Path, fits: Fits, finding: Finding) -> None:
    """Write down a finding and its pair of tables."""
    tables = _tables(fits.pairs[finding.pair])
    _write(path, fits, "two-world", _told(finding) | {"tables": tables})


def save_releases(path: Path, fits: Fits, found: list[Audited], runs: int) -> None:
    """Write down the releases that contradict their claims, with the answers of two neighbours.
    ``runs`` : draws of each release, over both."""
    releases = [
        {"release": one.release.name, "fault": one.fault, "finding": _told(one.finding)}
        | {"answers": one.release.answers(one.finding.pair)}
        for one in found
        if one.is_violation
    ]
    _write(path, fits, "releases", {"runs": runs, "releases": releases})


def save_rows(path: Path, fits: Fits, found: Guesses) -> None:
    """Write down one run: which of the rows were in its table, and the guesses. Row k of the last
    class is 1 along axis k and 0 else."""
    told = {"runs": found.canaries, "right": found.right, "guessed": found.guessed}
    _write(path, fits, "one-run", told | {"rows": found.rows})


def load(path: Path) -> Saved:
    """Return what a file has; InvalidInputError for what is no such file."""
    if not path.is_file():
        raise InvalidInputError(f"No such file: {path}.")
    no_audit = InvalidInputError(f"{path} is no file of an audit that this dpcore reads.")
    kinds = OSError, ValueError, KeyError, TypeError, RecursionError
    with replacing(*kinds, by=lambda _: no_audit):
        told = json.loads(path.read_text())
        known = isinstance(told, dict) and told["format"] == _FORMAT
        request, method = Request(**told["request"]), str(told["method"])
        if method == "two-world":
            _finding(told)
        known = known and int(told["runs"]) > 0
    if not known:
        raise InvalidInputError(f"{path} is of another version of dpcore.")
    return Saved(Fits(request), method, told)


def _write(path: Path, fits: Fits, method: str, found: dict[str, Any]) -> None:
    head = {"format": _FORMAT, "dpcore": __version__, "method": method}
    told = head | {"request": dataclasses.asdict(fits.request)} | found
    path.write_text(json.dumps(told, indent=1) + "\n")


def _told(finding: Finding) -> dict[str, Any]:
    return _plain(finding) | {
        "runs": finding.counts.runs,
        "statistic": _plain(finding.statistic),
        "counts": dataclasses.asdict(finding.counts),
        "claim": dataclasses.asdict(finding.claim),
    }


def _finding(told: dict[str, Any]) -> Finding:
    parts = {
        "claim": Claim(**told["claim"]),
        "counts": Counts(**told["counts"]),
        "statistic": Statistic(**{k: _array(value) for k, value in told["statistic"].items()}),
    }
    known = {f.name: told[f.name] for f in dataclasses.fields(Finding)}
    return Finding(**(known | parts))


def _tables(pair: Pair) -> dict[str, Any]:
    sides = {"here": pair.here, "there": pair.there}
    return {"words": pair.words} | {name: _plain(side) for name, side in sides.items()}


def _plain(value: Any) -> dict[str, Any]:
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


def _array(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value


def _are_alike(made: Any, told: Any) -> bool:
    """Return whether two answers are the same but for the last digits of the largest number."""
    if made.keys() != told.keys():
        return False
    for one, other in ((_flat(made[name]), _flat(told[name])) for name in made):
        largest = max(1.0, float(np.abs(one).max(initial=0.0)))
        if one.shape != other.shape or not np.allclose(one, other, rtol=0, atol=_CLOSE * largest):
            return False
    return True


def _flat(value: Any) -> np.ndarray:
    if not isinstance(value, list):
        return np.array([value], dtype=np.float64)
    return np.concatenate([np.empty(0), *(_flat(part) for part in value)])


def _other(what: str) -> InvalidInputError:
    return InvalidInputError(f"The file has {what} that this dpcore does not make.")
