"""Bytes of what goes from one process to another, as ``pickle`` makes them without ``copyreg``.

Anyone may register there how objects of dpcore's classes are pickled, or a number for a class's
name. A worker would then be sent another query, or whoever asked another sum.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import pickletools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcore.errors import EngineError

__all__ = ["packed", "require_unregistered", "unpacked"]


_OWN: dict[type, Callable[[Any], Any]] = {
    re.Pattern: lambda pattern: (re.compile, (pattern.pattern, pattern.flags)),
    complex: lambda number: (complex, (number.real, number.imag)),
    np.ufunc: lambda function: function.__name__,
}
"""As ``copyreg`` has them, of Python and of NumPy: these classes say nothing of it themselves."""


class _Pickler(pickle.Pickler):
    dispatch_table = _OWN


def packed(thing: Any) -> bytes:
    """Return the bytes of a thing. A class that a worker cannot import goes with its code, as it
    does wherever Dask sends one.

    Raises EngineError for a class whose name has a number in ``copyreg``.
    """
    try:
        content = _written(_Pickler, thing)
    except Exception:  # A class within a function, say; cloudpickle's own error is the one told.
        content = _with_code(thing)
    else:
        content = _with_code(thing) if b"__main__" in content or _by_value(thing) else content
    if any(code.name.startswith("EXT") for code, _, _ in pickletools.genops(content)):
        raise EngineError(
            "A package gave a class a number (copyreg.add_extension), which may stand for another "
            "class on a worker: leave it out."
        )
    return content


def unpacked(content: bytes) -> Any:
    return pickle.loads(content)


def require_unregistered(kind: type) -> None:
    """Raise EngineError where it is registered how Dask would move an object of a class."""
    if kind in copyreg.dispatch_table:
        raise EngineError(
            f"A package registered how a {kind.__name__} is pickled (copyreg.pickle): leave it out."
        )


def _written(pickler: Any, thing: Any) -> bytes:
    file = io.BytesIO()
    pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(thing)
    return file.getvalue()


def _by_value(thing: Any) -> bool:
    import cloudpickle

    return type(thing).__module__ in cloudpickle.list_registry_pickle_by_value()


def _with_code(thing: Any) -> bytes:
    from cloudpickle import Pickler

    class Own(Pickler):  # type: ignore[misc, unused-ignore]
        dispatch_table = _OWN | {
            kind: how
            for kind, how in Pickler.dispatch_table.items()
            if kind not in copyreg.dispatch_table
        }

    return _written(Own, thing)
