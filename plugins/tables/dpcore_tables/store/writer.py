"""Files of rows to a store: written beside its name, and given the name when it is whole."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.cells.features import coded_layout
from dpcore_tables.coded.rows import CodedRows
from dpcore_tables.store.format import HEADER, STORE_ROWS, BlockForm, Description, digest
from dpcore_tables.store.unfinished import claimed_file, is_at, partial_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpcore import Schema

__all__ = ["Origin", "check_target", "write_pieces", "write_rows", "write_unit_blocks"]


class Origin(NamedTuple):
    """Where rows are from, as a ``Description`` has it."""

    is_typed: bool = False
    read_by: tuple[str, ...] = ()
    claim: str = ""
    query: str = ""
    weight: str = ""


def write_rows(
    pieces: Iterable[tuple[Any, np.ndarray | None]],
    out: str | os.PathLike[str],
    schema: Schema,
    rows_dropped: bool,
    is_typed: bool,
    read_by: tuple[str, ...] = (),
    claim: str = "",
    query: str = "",
    weight: str = "",
) -> None:
    """Write encoded rows, as ``encoded_batches`` yields them, to the store ``out``, which appears,
    or is replaced, when it is whole; the schema has names and bounds. The store holds no ids of
    units: they are bounded before. ``weight`` : the column of the weights that are beside labels.

    Raises InvalidInputError for rows without labels or a path that cannot be written.
    """
    with _replacement(os.fspath(out)) as file:
        origin = Origin(is_typed, read_by, claim, query, weight)
        write_pieces(file, pieces, schema, rows_dropped, origin)


def write_pieces(
    file: BinaryIO,
    pieces: Iterable[tuple[Any, np.ndarray | None]],
    schema: Schema,
    rows_dropped: bool = False,
    source: Origin = Origin(),  # noqa: B008
) -> None:
    """Write a store of encoded rows to an open file, as ``write_rows`` does."""
    writer = _Writer(file, schema, rows_dropped, source)
    for X, y in pieces:
        if y is None:
            raise InvalidInputError("The rows of a store have labels, and these have none.")
        writer.add(_coded(X, schema), y)
    writer.finish()


def write_unit_blocks(
    out: str,
    blocks: Iterable[tuple[CodedRows, np.ndarray, np.ndarray]],
    schema: Schema,
    rows_dropped: bool,
    is_typed: bool,
    read_by: tuple[str, ...] = (),
    claim: str = "",
    query: str = "",
    weight: str = "",
) -> None:
    """Write blocks of whole units (``dpcore_tables.store.unit_blocks``) to the store ``out``, as
    ``write_rows`` does."""
    with _replacement(out) as file:
        source = Origin(is_typed, read_by, claim, query, weight)
        writer = _Writer(file, schema, rows_dropped, source, of_units=True)
        for rows, y, is_first in blocks:
            writer.add_block(*writer.of_rows(y), rows.numeric, rows.codes, is_first)
        writer.finish()


def check_target(out: str | os.PathLike[str]) -> None:
    """Raise InvalidInputError if ``out`` is no name for a store, or is some other file."""
    path = os.fspath(out)
    if not path.endswith(".dpcore") or os.path.basename(path) == ".dpcore":
        raise InvalidInputError(f"Expected the name of a store, {path!r}, to be NAME.dpcore.")
    if not os.path.exists(path):  # Nor does the target of a link need to be there.
        return
    with replacing(OSError, by=partial(_unwritable, path)), open(path, "rb") as file:
        start = file.read(13)
    if start and start != b"dpcore-store ":
        raise InvalidInputError(f"{path!r} is there and is no store; choose another name.")


class _Writer:
    """Fills blocks row by row and writes each when it is full."""

    def __init__(
        self,
        file: BinaryIO,
        schema: Schema,
        rows_dropped: bool,
        source: Origin,
        of_units: bool = False,
    ) -> None:
        self.n_rows = 0
        self._source = source
        self._file = file
        self._schema = schema
        self._rows_dropped = rows_dropped
        self._digests: list[str] = []
        self._of_blocks: list[int] | None = [] if of_units else None
        self._layout = coded_layout(schema)
        self._block = self._empty(STORE_ROWS)
        file.write(HEADER)

    def _empty(self, n_rows: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        has_units = self._of_blocks is not None
        form = BlockForm.of(self._layout, n_rows, has_units, bool(self._source.weight))
        content = np.zeros(form.size, dtype=np.uint8)
        y, *cells = form.parts(content)
        weights = (form.weights(content),) if self._source.weight else ()
        firsts = (form.firsts(content),) if has_units else ()
        return content, (y, *weights, *cells, *firsts)

    def of_rows(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return labels, and behind them the weights that are beside them where the store has
        some."""
        return (y["label"], y["weight"]) if self._source.weight else (y,)

    def add_block(self, *cells: np.ndarray) -> None:
        """Write rows as a block of their own: their labels, weights if there are any, numbers and
        codes, and, of whole units, which of them begin one."""
        content, parts = self._empty(cells[0].size)
        self._fill(parts, 0, cells)
        self._write(content)
        if self._of_blocks is not None:
            self.n_rows += cells[0].size
            self._of_blocks.append(cells[0].size)

    def add(self, X: CodedRows, y: np.ndarray) -> None:
        begin, cells = 0, (*self.of_rows(y), X.numeric, X.codes)
        while begin < y.size:
            at = self.n_rows % STORE_ROWS
            end = min(y.size, begin + STORE_ROWS - at)
            self._fill(self._block[1], at, tuple(part[begin:end] for part in cells))
            self.n_rows += end - begin
            begin = end
            if self.n_rows % STORE_ROWS == 0:
                self._write(self._block[0])

    def finish(self) -> None:
        left = self.n_rows % STORE_ROWS if self._of_blocks is None else 0
        if left:
            self.add_block(*(part[:left] for part in self._block[1]))
        digests = tuple(self._digests)
        description = Description(
            self._schema,
            self.n_rows,
            self._rows_dropped,
            digests,
            *self._source,
            of_blocks=None if self._of_blocks is None else tuple(self._of_blocks),
        )
        self._file.write(description.tail())

    def _fill(self, block: tuple[np.ndarray, ...], at: int, rows: tuple[np.ndarray, ...]) -> None:
        for part, cells in zip(block, rows, strict=True):
            part[at : at + len(cells)] = cells

    def _write(self, content: np.ndarray) -> None:
        self._digests.append(digest(content))
        self._file.write(content.data)


def _coded(X: object, schema: Schema) -> CodedRows:
    """Return rows as coded ones; dense rows of numbers alone have no codes."""
    if isinstance(X, CodedRows):
        return X
    if not isinstance(X, np.ndarray):
        raise InvalidInputError("A store has named columns.")
    layout = coded_layout(schema)
    # On the feature grid in [0, 1], so that float32 holds them exactly.
    return CodedRows(layout, X.astype(np.float32), np.empty((len(X), 0), dtype=layout.code_type))


@contextmanager
def _replacement(path: str) -> Iterator[BinaryIO]:
    """Open the file that takes the name ``path`` at the end of the block, if no error leaves it."""
    target = os.path.realpath(path)
    unfinished = partial_path(target)
    with replacing(OSError, by=partial(_unwritable, path)), claimed_file(path, unfinished) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not is_at(file.fileno(), unfinished):
                raise OSError(None, "another process took the place of the unfinished store")
            os.replace(unfinished, target)
        finally:
            if is_at(file.fileno(), unfinished):
                os.unlink(unfinished)


def _unwritable(path: str, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"Cannot write {path!r}: {error.strerror or 'not writable'}.")
