"""Output files: found unwritable before any work, and written whole or not at all."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dpcore.errors import InvalidInputError, replacing

__all__ = ["OutFile", "check_writable", "write_whole"]

_IN_MEMORY = 2**22


class OutFile:
    """An output file: refused before any work, and written whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpcore.plugin.parts import OutFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     OutFile(f"{folder}/model.json").write("{}")
    ...     print(Path(folder, "model.json").read_text())
    {}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path

    def refuse(self, inputs: Mapping[str, str | os.PathLike[str] | None]) -> None:
        """Raise InvalidInputError if it is one of the files of ``inputs``, option to file."""
        for option, source in inputs.items():
            try:
                same = source is not None and os.path.samefile(self._path, source)
            except (OSError, ValueError):  # One of them is not there.
                same = False
            if same:
                raise InvalidInputError(
                    f"The output {os.fspath(self._path)!r} is the file of {option}; choose another "
                    "path."
                )

    def check(self) -> None:
        """Raise InvalidInputError if it cannot be written, and leave nothing behind."""
        target = _resolve(self._path)
        try:
            if target.is_dir():
                raise IsADirectoryError(None, "it is a directory")
            if target.exists() and not os.access(target, os.W_OK):
                raise PermissionError(None, "permission denied")
            if target.is_file() or not target.exists():
                trial = _sibling(target)
                _write_new(trial)
                trial.unlink()
        except OSError as error:
            raise _unwritable(self._path, error.strerror) from error

    def write(self, content: str | bytes | Iterable[bytes], mode: int = 0o666) -> None:
        """Write the file whole: a reader finds the old file or the new one.

        The content is bytes, all at once or in pieces, or text, as UTF-8.

        ``mode`` : the permissions of a new file, less those that the system takes away. A device or
        a pipe is written directly, when all pieces are there. Raises InvalidInputError if it cannot
        be written.
        """
        target = _resolve(self._path)
        content = content.encode("utf-8") if isinstance(content, str) else content
        pieces = (content,) if isinstance(content, bytes) else content
        try:
            if target.exists() and not target.is_file():
                with self.spooled(pieces) as whole, target.open("wb") as file:
                    shutil.copyfileobj(whole, file)
                return
            trial = _sibling(target)
            try:
                _write_new(trial, pieces, mode)
                os.replace(trial, target)
            finally:
                trial.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(self._path, error.strerror) from error

    @staticmethod
    @contextmanager
    def spooled(pieces: Iterable[bytes]) -> Iterator[IO[bytes]]:
        """Lend all pieces as one file to read from; what does not fit into a little memory is kept
        in a file without a name."""
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as whole:
            for piece in pieces:
                whole.write(piece)
            whole.seek(0)
            yield whole


def check_writable(path: str | os.PathLike[str]) -> None:
    OutFile(path).check()


def write_whole(
    path: str | os.PathLike[str], content: str | bytes | Iterable[bytes], mode: int = 0o666
) -> None:
    OutFile(path).write(content, mode)


def _resolve(path: str | os.PathLike[str]) -> Path:
    """Return the file that is meant, through links: a link stays and its target is replaced."""
    no_path = _unwritable(path, "not a path")
    with replacing(OSError, RuntimeError, ValueError, by=lambda _: no_path):
        return Path(path).resolve()


def _sibling(target: Path) -> Path:
    return target.with_name(f".dpcore-{secrets.token_hex(8)}.tmp")


def _write_new(path: Path, pieces: Iterable[bytes] = (), mode: int = 0o666) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _unwritable(path: str | os.PathLike[str], reason: str | None) -> InvalidInputError:
    return InvalidInputError(f"Cannot write {os.fspath(path)!r}: {reason or 'not writable'}.")
