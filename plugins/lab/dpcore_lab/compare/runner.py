"""Runs a comparison: what is done already is kept, the rest is fitted, the results are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import LocalEngine, OutFile
from dpcore_lab.compare.agreement import refuse_other, settings_of
from dpcore_lab.compare.data_rows import is_private
from dpcore_lab.compare.fits import Fitter
from dpcore_lab.compare.folds import fold_key
from dpcore_lab.compare.journal import Journal, cell_of, journal_path, open_journal
from dpcore_lab.compare.results import Results, read_results, write_results
from dpcore_lab.compare.settings import cells_of
from dpcore_lab.compare.workers import fit_in_processes, fit_on_engine
from dpcore_tables.schemas.shipped import is_shipped

if TYPE_CHECKING:
    from dpcore_lab.compare.settings import Cell, Comparison

__all__ = ["check_out", "run"]

LOCAL = "local"
_MANY = 8
"""Processes of an engine that groups are cut for: how many it has, it alone knows."""

OnRow = Callable[[int, int, Mapping[str, Any]], None]


def check_out(out: str | os.PathLike[str]) -> None:
    """Raise InvalidInputError for a results file that is not named as Parquet or cannot be
    written, or a file of another kind in its place."""
    OutFile(out).check()
    if Path(out).suffix.lower() != ".parquet":
        raise InvalidInputError(f"Expected the results {os.fspath(out)!r} as .parquet.")
    OutFile(journal_path(out)).check()
    if os.path.isfile(out):
        try:
            read_results(out)
        except DataError as error:
            raise InvalidInputError(f"{error} Choose another --out.") from error


def run(
    comparison: Comparison,
    out: str | os.PathLike[str] | None,
    jobs: int = 1,
    on_row: OnRow = lambda done, total, row: None,
    engine: str = LOCAL,
) -> Results:
    """Return the results of an admitted comparison, and write them to ``out`` if there is one.

    With the same settings and ``out``, a run goes on where an interrupted one ended, and returns
    at once what a finished one wrote. ``jobs`` : how many processes fit, each on one thread; one
    is this process, on all threads. ``engine`` : another one whose processes fit, as NAME or
    NAME:ADDRESS. The results are the same but for ``seconds``.
    ``on_row(done, total, row)`` is called for each new row.

    Raises InvalidInputError for an ``out`` of other settings.
    """
    settings = settings_of(comparison)
    if out is not None and os.path.isfile(out):
        finished = read_results(out)
        refuse_other(os.fspath(out), finished.settings, settings)
        return finished
    with closing(_journal(comparison, out, settings)) as journal:
        results = Results(settings, _fit_missing(comparison, journal, jobs, on_row, engine))
        if out is not None:
            write_results(out, results)
            journal.remove()
    return results


def _fit_missing(
    comparison: Comparison, journal: Journal, jobs: int, on_row: OnRow, engine: str
) -> list[dict[str, Any]]:
    """Make the fits that the journal has not, and return the rows of all."""
    cells = list(cells_of(comparison))
    done = [_key(cell) in journal.rows for cell in cells]
    left = [cell for cell, is_done in zip(cells, done, strict=True) if not is_done]
    missing = [cell for cell in left if cell.algorithm not in comparison.externals]
    outside = [cell for cell in left if cell.algorithm in comparison.externals]

    def keep(row: dict[str, Any]) -> None:
        journal.append(row)
        on_row(len(journal.rows), len(cells), row)

    here = _groups(outside, 1)  # What it starts ends with this process, whatever becomes of others.
    if engine != LOCAL:
        workers = jobs if jobs > 1 else None
        groups = list(_groups(missing, max(jobs, _MANY)))
        fit_on_engine(comparison, groups, journal.key, engine, workers, keep)
    elif (jobs := min(jobs, LocalEngine.available_threads(), max(1, len(missing)))) > 1:
        fit_in_processes(comparison, list(_groups(missing, jobs)), journal.key, jobs, keep)
    else:
        here = chain(_groups(missing, 1), here)
    fitter = Fitter(comparison, journal.key, threads=None)
    for group in here:
        for row in fitter.rows(group):
            keep(row)
    return [journal.rows[_key(cell)] for cell in cells]


def _groups(cells: list[Cell], jobs: int) -> Iterator[list[Cell]]:
    """Yield the fits that are handed to a process at a time: of one algorithm, on one fold, and few
    enough that all processes have some."""
    most = max(1, -(-len(cells) // (2 * jobs)))
    for _, fits in groupby(cells, key=lambda cell: (cell.data, cell.fold, cell.algorithm)):
        group = list(fits)
        yield from (group[begin : begin + most] for begin in range(0, len(group), most))


def _journal(
    comparison: Comparison, out: str | os.PathLike[str] | None, settings: Mapping[str, Any]
) -> Journal:
    key = fold_key(comparison.seed)
    if out is None:
        return Journal(key)
    files = [name for name in comparison.data if is_private(name)]
    schema = comparison.schema
    files += [schema] if schema is not None and not is_shipped(schema) else []
    return open_journal(out, settings, {name: _state(name) for name in files}, key)


def _state(name: str) -> list[int]:
    state = Path(name).stat()
    return [state.st_size, state.st_mtime_ns]


def _key(cell: Cell) -> tuple[Any, ...]:
    return cell_of(vars(cell))
