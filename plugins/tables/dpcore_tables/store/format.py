"""The file of a store, version 1.

::

    page 0    "dpcore-store 1\\n", zeros
    page 1..  blocks of 8,192 rows, the last with what is left, each from the start of a page:
              labels float64, numbers float32 (row by row), codes (row by row), zeros
              (of units: whole ones in each block, and after the codes a byte for each row, 1 for
              the first of its unit, else 0; with weights: after the labels, float64)
    then      the description, JSON: schema, rows, rows_dropped, is_typed, read_by, claim, query,
              one SHA-256 per block (of units: block_rows, the rows of each block; with weights:
              weight, the name of their column)
    last      48 bytes: length of the description (uint64, little-endian), SHA-256 of page 0,
              description and length, "complete"

What a cell is follows from the schema. Every byte is under a checksum: it finds a file that was cut
short or altered by accident, and is no signature.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import Schema
from dpcore.errors import DataError, replacing
from dpcore_tables.cells.features import coded_layout

if TYPE_CHECKING:
    from dpcore_tables.coded.rows import CodedLayout

__all__ = [
    "HEADER",
    "PAGE",
    "STORE_ROWS",
    "TAIL_BYTES",
    "BlockForm",
    "Description",
    "check_header",
    "digest",
]

PAGE = 4096
STORE_ROWS = 8192
VERSION = 1
HEADER = f"dpcore-store {VERSION}\n".encode("ascii").ljust(PAGE, b"\0")
_END = b"complete"
_TAIL = struct.Struct("<Q32s8s")
TAIL_BYTES = _TAIL.size


def digest(content: np.ndarray) -> str:
    """Return the SHA-256 of uint8 cells."""
    return hashlib.sha256(content.data).hexdigest()


@dataclass(frozen=True)
class BlockForm:
    """The places of the parts of a block of ``n_rows`` rows, in bytes from its start."""

    n_rows: int
    n_numeric: int
    n_codes: int
    code_type: np.dtype
    has_units: bool = False
    has_weights: bool = False

    @classmethod
    def of(
        cls, layout: CodedLayout, n_rows: int, has_units: bool = False, has_weights: bool = False
    ) -> BlockForm:
        n_codes, stated = layout.starts.size - 1, (has_units, has_weights)
        return cls(n_rows, layout.numeric.size, n_codes, layout.code_type, *stated)

    @property
    def numeric_at(self) -> int:
        return 8 * self.n_rows * (1 + self.has_weights)

    @property
    def codes_at(self) -> int:
        return self.numeric_at + 4 * self.n_numeric * self.n_rows

    @property
    def firsts_at(self) -> int:
        return self.codes_at + self.code_type.itemsize * self.n_codes * self.n_rows

    @property
    def size(self) -> int:
        """Bytes of the block, whole pages."""
        used = self.firsts_at + self.n_rows * self.has_units
        return -(-used // PAGE) * PAGE

    def firsts(self, content: np.ndarray) -> np.ndarray:
        """Return which rows begin a unit, uint8, as a view of a block's bytes; of no units none."""
        return content[self.firsts_at : self.firsts_at + self.n_rows * self.has_units]

    def weights(self, content: np.ndarray) -> np.ndarray:
        """Return the weights of the rows, float64, likewise."""
        return content[8 * self.n_rows : self.numeric_at].view("<f8")

    def parts(self, content: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return labels, numbers and codes as views of a block's bytes (uint8)."""
        y = content[: 8 * self.n_rows].view("<f8")
        numeric = content[self.numeric_at : self.codes_at].view("<f4")
        width = self.code_type.newbyteorder("<")
        codes = content[self.codes_at : self.firsts_at].view(width)
        return (
            y,
            numeric.reshape(self.n_rows, self.n_numeric),
            codes.reshape(self.n_rows, self.n_codes),
        )


@dataclass(frozen=True)
class Description:
    """All of a store besides its blocks.

    ``rows_dropped`` : whether rows that do not satisfy the schema were left out. ``is_typed`` :
    whether the file that they are from declared types of its columns. ``read_by`` : its reader, as
    ``"module:name"``, where that is not from dpcore: a statement names it. ``claim`` : that of a
    query which they are the result of (``dpcore.privacy.statement``), none of other rows.
    ``query`` : that one's SHA-256, as ``Dataset`` has it.
    ``weight`` : the column of the weights that rows have, empty where they have none. ``weights`` :
    of each row, float64, once the rows are read.
    ``of_blocks`` : the rows of each block, where units are marked in them. ``units`` : of each row,
    int64, once the rows are read.
    """

    schema: Schema
    n_rows: int
    rows_dropped: bool
    digests: tuple[str, ...]
    is_typed: bool = False
    read_by: tuple[str, ...] = ()
    claim: str = ""
    query: str = ""
    weight: str = ""
    of_blocks: tuple[int, ...] | None = None
    units: np.ndarray | None = field(default=None, repr=False, compare=False)
    weights: np.ndarray | None = field(default=None, repr=False, compare=False)

    def block_rows(self) -> list[int]:
        """Return the number of rows of each block."""
        if self.of_blocks is not None:
            return [*self.of_blocks]
        whole, rest = divmod(self.n_rows, STORE_ROWS)
        return [STORE_ROWS] * whole + ([rest] if rest else [])

    def forms(self) -> list[BlockForm]:
        """Return the form of each block; those of as many rows share one."""
        layout, sizes = coded_layout(self.schema), self.block_rows()
        stated = self.of_blocks is not None, bool(self.weight)
        of_size = {n: BlockForm.of(layout, n, *stated) for n in set(sizes)}
        return [of_size[n] for n in sizes]

    def tail(self) -> bytes:
        """Return all that follows the blocks."""
        data = {
            "schema": self.schema.to_dict(),
            "rows": self.n_rows,
            "rows_dropped": self.rows_dropped,
            **({"is_typed": True} if self.is_typed else {}),
            **({"read_by": list(self.read_by)} if self.read_by else {}),
            **({"claim": self.claim} if self.claim else {}),
            **({"query": self.query} if self.query else {}),
            **({"weight": self.weight} if self.weight else {}),
            **({} if self.of_blocks is None else {"block_rows": list(self.of_blocks)}),
            "sha256": list(self.digests),
        }
        text = json.dumps(data, ensure_ascii=True, allow_nan=False).encode("ascii")
        return text + _TAIL.pack(len(text), _seal(text), _END)

    @classmethod
    def from_tail(cls, path: str, read: Any, size: int) -> Description:
        """Return the description at the end of a file of ``size`` bytes;
        ``read(begin, end)`` returns some of them. DataError if it is not whole."""
        cut = DataError(f"{path}: the store is cut short or not finished; convert it again.")
        if size < PAGE + TAIL_BYTES:
            raise cut
        length, seal, end = _TAIL.unpack(read(size - TAIL_BYTES, size))
        if end != _END or length > size - PAGE - TAIL_BYTES:
            raise cut
        text = read(size - TAIL_BYTES - length, size - TAIL_BYTES)
        if _seal(text) != seal:
            raise DataError(f"{path}: the store's description was altered; convert it again.")

        def unusable(error: Exception) -> DataError:
            kind = type(error).__name__
            return DataError(f"{path}: the store's description cannot be used ({kind}).")

        with replacing(KeyError, TypeError, ValueError, RecursionError, by=unusable):
            found = cls._from_json(json.loads(text))
        if PAGE + sum(form.size for form in found.forms()) + length + TAIL_BYTES != size:
            raise DataError(f"{path}: the store is not as long as its description says.")
        return found

    @classmethod
    def _from_json(cls, data: Any) -> Description:
        n_rows, dropped, digests = data["rows"], data["rows_dropped"], tuple(data["sha256"])
        # Stores of before these were known do not say.
        is_typed, read_by = data.get("is_typed", False), tuple(data.get("read_by", ()))
        claim, query, weight = (data.get(key, "") for key in ("claim", "query", "weight"))
        if type(n_rows) is not int or n_rows < 0 or {type(dropped), type(is_typed)} != {bool}:
            raise TypeError
        of_blocks = tuple(data["block_rows"]) if "block_rows" in data else None
        texts = *read_by, claim, query, weight
        if {*map(type, of_blocks or ())} - {int} or {*map(type, texts)} - {str}:
            raise TypeError
        schema = Schema.from_dict(data["schema"])
        said = is_typed, read_by, claim, query, weight
        found = cls(schema, n_rows, dropped, digests, *said, of_blocks)
        sizes = found.block_rows()
        if found.schema.width is not None or (of_blocks is not None and schema.unit is None):
            raise ValueError
        if (len(sizes), sum(sizes)) != (len(digests), n_rows):
            raise ValueError
        if not all(1 <= n <= STORE_ROWS for n in sizes):
            raise ValueError
        return found


def check_header(path: str, start: bytes) -> None:
    """Raise DataError unless a file begins as a store of this version does."""
    if start == HEADER:
        return
    known = re.match(rb"dpcore-store (\d{1,9})\n", start)
    if known is None:
        what = "is empty" if not start else "is not a dpcore store"
        raise DataError(f"{path}: the file {what}; dpcore convert writes one.")
    if int(known[1]) == VERSION:
        raise DataError(f"{path}: the store is cut short or altered; convert it again.")
    raise DataError(
        f"{path}: a store of version {int(known[1])}, and this dpcore reads version {VERSION}; "
        "convert the rows again."
    )


def _seal(text: bytes) -> bytes:
    return hashlib.sha256(HEADER + text + struct.pack("<Q", len(text))).digest()
