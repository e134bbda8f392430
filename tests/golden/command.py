"""The command line, run in this process through its installed script, in a folder of its own."""

import gc
import io
import logging
import os
import re
import shlex
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from golden.normal_form import normal

_WIDTH = "80"
# A line every ten seconds, which a slow machine shows.
_PROGRESS = re.compile(
    r"^dpcore: (reading .*|converting|fitting|auditing|comparing|rounds): "
    r".*(read|stores|releases?|runs|fits|budget|\d)(, about .* left)?\n",
    re.MULTILINE,
)
_SAME_EVERYWHERE = {"COLUMNS": _WIDTH, "TERMINAL_WIDTH": _WIDTH, "LINES": "24", "NO_COLOR": "1"}


class Said(NamedTuple):
    """Exit status, standard output and standard error of one command."""

    status: int
    out: str
    err: str


@contextmanager
def empty_folder():
    """Lend a new folder as the working directory, without the caller's settings of dpcore."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DPCORE_")}
    before = Path.cwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, kept | _SAME_EVERYWHERE, clear=True),
    ):
        os.chdir(folder)
        try:
            yield Path(folder).resolve()
        finally:
            os.chdir(before)


def dpcore(line, stdin=b""):
    """Return what a command line says, its first word ``dpcore``."""
    words = shlex.split(line)
    (script,) = entry_points(group="console_scripts", name=words[0])
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    # Who asks how the process was started finds a script, and not pytest as a module.
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        mock.patch.object(sys.modules["__main__"], "__package__", None, create=True),
        redirect_stdout(out),
        redirect_stderr(err),
        _as_after_its_process(),
    ):
        status = _status_of(script.load())
    said, told = (stream.buffer.getvalue().decode() for stream in _flushed(out, err))
    return Said(status, said, _PROGRESS.sub("", told))


@contextmanager
def _as_after_its_process():
    """Undo what a command leaves behind for the end of its process: objects that are hidden from
    the collector of cycles, and a logger that prints."""
    logger = logging.getLogger("dpcore")
    level, handlers = logger.level, list(logger.handlers)
    try:
        yield
    finally:
        gc.unfreeze()
        logger.setLevel(level)
        logger.handlers[:] = handlers


def outcome(make):
    """Return what a function returns, or the error that it ends with, as text: a record too."""
    try:
        return make()
    except Exception as error:
        notes = " ".join(getattr(error, "__notes__", ()))
        return normal(f"{type(error).__name__}: {error} {notes}".rstrip())


def _status_of(main):
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _flushed(*streams):
    for stream in streams:
        stream.flush()
    return streams
