"""Margins of rows, one for each: NaN for a row that does not satisfy the schema, which has no
score."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DataError, InvalidInputError, warn_caller
from dpcore.model.probabilities import blank_rows

if TYPE_CHECKING:
    from dpcore.data.blocks.layouts import Rows
    from dpcore.data.files import BadRows
    from dpcore.data.schema.schema import Schema
    from dpcore.model.learnt import LearntFacts

__all__ = ["blanks_in_words", "margins_in_pieces", "margins_of", "reading_of"]


def margins_of(
    model: LearntFacts, X: Any, bad_rows: str, of_rows: Callable[[Rows], np.ndarray] | None = None
) -> np.ndarray:
    """Return the margins of every row of an array, a frame or a file, as ``Model.margins`` shapes
    them; or, by ``of_rows``, what else encoded rows have, float64 with the rows last.

    Warns, once, with the number of rows without a score.
    """
    found = [*margins_in_pieces(model, _pieces(model.schema, X, reading_of(bad_rows)), of_rows)]
    margins = np.concatenate(found, axis=-1) if found else np.zeros((*model.w.shape[:-1], 0))
    if n_blank := int(blank_rows(margins).sum()):
        told = blanks_in_words(model, n_blank, margins.shape[-1], "bad_rows='refuse'", X)
        warn_caller(told, remembered=False)
    return margins


def margins_in_pieces(
    model: LearntFacts,
    pieces: Iterable[tuple[Rows, np.ndarray | None]],
    of_rows: Callable[[Rows], np.ndarray] | None = None,
) -> Iterator[np.ndarray]:
    """Yield the margins of each piece of encoded rows, or what else ``of_rows`` says of them. They
    are NaN for rows that were not kept (bool, None if all were)."""
    for rows, kept in pieces:
        margins = (of_rows or model.margins)(rows)
        if kept is not None:
            known, margins = margins, np.full((*margins.shape[:-1], kept.size), np.nan)
            margins[..., kept] = known
        yield margins


def reading_of(bad_rows: str) -> BadRows:
    """Return how rows are read that are to have no score, or are to be refused."""
    if bad_rows not in ("blank", "refuse"):
        raise InvalidInputError(f"Expected bad-rows={bad_rows!r} to be blank or refuse.")
    return "drop" if bad_rows == "blank" else "refuse"


def blanks_in_words(model: LearntFacts, n_blank: int, n_rows: int, option: str, X: Any) -> str:
    """Return a sentence on rows of X without a score, and, where no row has one, another on why the
    first has none; ``option`` : which asks for their refusal."""
    have = "has" if n_blank == 1 else "have"
    return (
        f"{n_blank:,} of {n_rows:,} rows {have} no score: a cell is empty, or not what the schema "
        f"says. {option} tells the first, and why; a model that was trained with fill = VALUE or "
        "indicator = true for a column scores its empty cells."
    ) + (_first_reason(model.schema, X) if n_blank == n_rows else "")


def _first_reason(schema: Schema, X: Any) -> str:
    """Return a sentence on why the first row does not satisfy the schema, by reading it once more;
    nothing of what may be readable once only, such as a pipe."""
    if isinstance(X, (str, os.PathLike)) and not os.path.isfile(X):
        return ""
    try:
        next(_pieces(schema, X, "refuse"), None)
    except DataError as error:
        return f" The first: {error}"
    return ""


def _pieces(schema: Schema, X: Any, bad_rows: BadRows) -> Iterator[tuple[Rows, np.ndarray | None]]:
    if isinstance(X, (str, os.PathLike)):
        from dpcore.data.loader import file_loader

        yield from file_loader().pieces(X, schema, bad_rows)
    else:
        from dpcore.data.arrays import features_from_arrays

        yield features_from_arrays(X, schema, bad_rows=bad_rows)
