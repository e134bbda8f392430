"""numba's ``njit`` for kernels that are cached on disk where there is a place for them.

numba keeps them beside the module or in the user's cache folder, or in ``NUMBA_CACHE_DIR``. Where
none of these can be written (a read-only installation without a home, say), it refuses to define a
cached kernel; here they then go to a temporary folder of this process and are compiled anew in the
next one.
"""

import atexit
import os
import shutil
import tempfile

import numba
from numba import njit

__all__ = ["njit"]


def _probe() -> None:
    """Never called: to define it as a cached kernel is to look for a place."""


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # A forked child ends before its parent needs no more kernels.
        shutil.rmtree(folder, ignore_errors=True)


try:
    njit(cache=True, error_model="numpy")(_probe)
except RuntimeError:
    _folder = tempfile.mkdtemp(prefix="dpcore-kernels-")
    setattr(numba.config, "CACHE_DIR", _folder)  # noqa: B010  (numba sets it by name, too)
    atexit.register(_remove, _folder, os.getpid())
