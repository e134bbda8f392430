"""Arrays of rows that nobody can write to any more: a block may keep them without a copy.

A row's norm is computed once, so the row must not change. That an array is read-only does not say
so: it may be a view of a writeable array, and an earlier view of it may still be writeable. Only
arrays that were made here, and whose views nobody else has, are shared.
"""

import weakref

import numpy as np

__all__ = ["freeze", "is_frozen", "unchanging"]

_FROZEN: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def freeze(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array that the caller made, gave to nobody, and gives up.

    An array whose data belong to another is only set read-only.
    """
    array.setflags(write=False)
    if type(array) is np.ndarray and array.base is None and array.flags.owndata:
        _FROZEN[id(array)] = array
    return array.view()


def unchanging(array: np.ndarray) -> np.ndarray:
    """Return the array itself if it is in C order and cannot change, else a copy in C order; both
    are read only."""
    if array.flags.c_contiguous and is_frozen(array):
        return array
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy


def is_frozen(array: np.ndarray) -> bool:
    """Return whether ``freeze`` was given this array, or the array behind it."""
    root, below = array, array.base
    while isinstance(below, np.ndarray):
        root, below = below, below.base
    return _FROZEN.get(id(root)) is root and not root.flags.writeable
