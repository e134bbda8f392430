"""The contract of a row store: encoded rows in a file, which keeps their schema.

A row store holds private rows, and what it hands out goes to a run's blocks as it is: it is inside
the trust boundary, and the statement names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from dpcore import Schema

__all__ = ["RowStore", "StoredFacts"]


class StoredFacts(Protocol):
    """The public facts that a store states of its rows."""

    @property
    def schema(self) -> Schema: ...
    @property
    def rows_dropped(self) -> bool: ...
    @property
    def is_typed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class RowStore:
    """The four functions of a store, as they are registered.

    Parameters
    ----------
    open : of a path, returns rows as ``encode`` makes them, labels (float64) and the stored facts;
        DataError for a file that is no store, or not whole.
    write : of pieces (rows, labels), a path, their schema, whether bad rows were dropped, and
        whether the source declared types of its columns. The store appears when it is whole.
    schema : of a path, returns the schema, without a look at the rows.
    check_target : of a path, raises InvalidInputError if a store cannot be written there.
    """

    open: Callable[[str], tuple[Any, np.ndarray, StoredFacts]]
    write: Callable[[Iterable[tuple[Any, np.ndarray | None]], str, Schema, bool, bool], None]
    schema: Callable[[str], Schema]
    check_target: Callable[[str], None]
