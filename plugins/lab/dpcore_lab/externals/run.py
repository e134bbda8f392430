"""The fit of an external algorithm: its files are made, it runs, and its files are removed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.errors import DataError, InvalidInputError
from dpcore_lab.externals.exchange import (
    Request,
    check_rows,
    read_predictions,
    task_of,
    write_request,
)
from dpcore_lab.externals.process import FAILED, FINISHED, Caps, run_capped

if TYPE_CHECKING:
    import numpy as np

    from dpcore_lab.externals.registry import External

__all__ = ["Outcome", "Request", "check_external", "run_external"]


@dataclass(frozen=True)
class Outcome:
    """The end of an external's fit: as of its process, and its predictions where it finished."""

    status: str
    message: str
    predictions: np.ndarray | None
    seconds: float
    cpu_seconds: float
    memory: int


def check_external(external: External) -> None:
    """Raise InvalidInputError where the executable is not there."""
    if shutil.which(external.command[0]) is None:
        remedy = f" {external.remedy}" if external.remedy else ""
        raise InvalidInputError(f"The executable of {external.name} is not there.{remedy}")


def run_external(
    external: External, request: Request, caps: Caps, threads: int | None = None
) -> Outcome:
    """Return how a fit ended. It fails by a message, which holds nothing that the external wrote.

    Rows are in a temporary folder (mode 0700, files 0600), which is removed at the end; a process
    that is killed by force leaves it. Raises InvalidInputError for rows that no external is handed.
    """
    check_rows(request.train)
    with _private_folder() as folder:
        write_request(folder, request)
        ended = run_capped((*external.command, str(folder)), folder, caps, threads)
        status, message, found = ended.status, ended.message, None
        if status == FINISHED:
            try:
                found = read_predictions(folder, request.test.y.size, task_of(request.test.schema))
            except DataError as error:
                status, message = FAILED, str(error)
    return Outcome(status, message, found, ended.seconds, ended.cpu_seconds, ended.memory)


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Lend a folder that its owner alone can enter, and remove it with all that is in it."""
    folder = Path(tempfile.mkdtemp(prefix="dpcore-external-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
