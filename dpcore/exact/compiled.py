"""numba's ``njit`` for kernels that are cached on disk, each in a file with a digest.

They lie where numba has a place for them: beside the module, in the user's cache folder, or in
``NUMBA_CACHE_DIR``. Beside what numba does, a file is loaded only if its digest is that of its
content and it was made of the very source that runs now; it is written whole or not at all, and
replaced if it cannot be used. None is written of a kernel that was compiled by registrations of
others than numba (``dpcore.exact.compiler``). A file is loaded without importing what numba
compiles with. Where nothing can be read or written the kernel is compiled in memory, and one line
of the process says so. The digest finds what was damaged. It is no seal: whoever may write to the
cache can run code here, as with Python's own byte code.
"""

import functools
import glob
import hashlib
import inspect
import logging
import os
import pickle
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from dpcore.exact import compiler
from dpcore.exact.compiler import note_registrations

__all__ = ["KernelCache", "Unkept", "njit", "source_digest"]

_DIGEST_BYTES = 32
_NEXT = "Kernels are compiled in memory."
_TOLD: list[str] = []


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator with these options; with ``cache=True`` the kernel is kept on disk,
    as the head of this file says.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import njit
    >>> @njit()
    ... def twice(x, out):
    ...     for i in range(x.size):
    ...         out[i] = 2.0 * x[i]
    >>> out = np.empty(2)
    >>> twice(np.array([1.0, 2.5]), out)
    >>> out
    array([2., 5.])
    """

    def define(function: Callable[..., Any]) -> Any:
        # Stated, since numba hands on that of a caller: without NaN a clip bounds nothing.
        kernel = numba.njit(**{"fastmath": False, **options})(function)
        if kernel is function:  # NUMBA_DISABLE_JIT leaves it as it is.
            return kernel
        kernel._cache = Unkept()
        if cache:
            try:
                kernel._cache = KernelCache(function)
            except RuntimeError:  # what numba raises where it finds no folder to write to
                _tell(f"no folder for cached kernels can be written. {_NEXT}")
        return kernel

    return define


class Unkept(NullCache):
    """The cache of a kernel that is kept in memory alone."""

    def save_overload(self, sig: Any, cres: Any) -> None:
        note_registrations(cres)


class KernelCache(FunctionCache):
    """The cache of one kernel: it never fails, since there is always the compiler."""

    def __init__(self, function: Callable[..., Any], *more: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # as numba is
        source = source_digest(inspect.getfile(function))
        checked = source_digest(compiler.__file__)
        stamp = (numba.__version__, self._impl.locator.get_source_stamp(), source, checked, *more)
        self._files = _KernelFiles(Path(self.cache_path, self._impl.filename_base), stamp)
        self._cache_file: Any = self._files  # where numba looks for them

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # All that compiled code asks of numba. Its own method first imports all that a compiler
            # needs, which is more than a hundred modules and SciPy's linear algebra.
            rtsys.initialize(target_context)
            note_registrations()
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError as error:
            _tell(f"the kernel cache cannot be read: {self._place(error)}. {_NEXT}")
        except Exception as error:
            _tell(
                f"the cached kernel {self._files.last} cannot be used "
                f"({type(error).__name__}: {error}); it is compiled anew and replaced."
            )
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            if note_registrations(data):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _tell(f"the kernel cache cannot be written: {self._place(error)}. {_NEXT}")

    def _place(self, error: OSError) -> str:
        name = error.filename or self._files.last
        return f"{os.fspath(name)}: {error.strerror or type(error).__name__}"


class _KernelFiles:
    """The files of one kernel, one for each signature and processor: the digest of what follows,
    then stamp, key and compiled code. ``last`` : the file that was last looked for."""

    def __init__(self, base: Path, stamp: tuple[Any, ...]) -> None:
        self._base, self._stamp = base, stamp
        self.last = base

    def load(self, key: Any) -> Any:
        """Return what was saved under the key; ``None`` if nothing was, or of other source.

        Raises ValueError for a file whose digest is another.
        """
        try:
            whole = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        digest, content = whole[:_DIGEST_BYTES], whole[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("damaged: not the digest that it was written with")
        stamp, known, data = pickle.loads(content)
        return data if (stamp, known) == (self._stamp, key) else None

    def save(self, key: Any, data: Any) -> None:
        content = dumps((self._stamp, key, data))  # type: ignore[no-untyped-call]
        path = self._path(key)
        trial = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            trial.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(trial, path)
        finally:
            trial.unlink(missing_ok=True)

    def flush(self) -> None:
        for path in self._base.parent.glob(f"{glob.escape(self._base.name)}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        self.last = self._base.with_name(f"{self._base.name}.{name}.nbc")
        return self.last


@functools.cache
def source_digest(path: str) -> str:
    """Return a digest of a source file, since older numba looks at its time and size alone; empty
    for a file within an archive."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def _tell(message: str) -> None:
    """Say the first of these in a process: on a full disk every kernel would say it again."""
    if not _TOLD:
        _TOLD.append(message)
        logging.getLogger("dpcore").warning("dpcore: warning: %s", message)
