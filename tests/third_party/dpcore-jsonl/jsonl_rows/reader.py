"""A reader of JSON lines: each line is a row, and each of its values a cell by itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from dpcore.errors import DataError, InvalidInputError
from dpcore_tables.readers import (
    RawTable,
    ReadFacts,
    as_objects,
    read_pieces,
    wanted_names,
    whole_records,
)

__all__ = ["JsonLines", "open_jsonl"]

_SCHEME = "jsonl://"
_ROWS = 2**15
_CUT = partial(whole_records, separator=",", quote=None)
"""Each line is a record, whatever is quoted in it."""


class JsonLines:
    """A file of JSON lines, or the files of a folder; a further ``.gz`` is unpacked.

    Whether a line is a row is a function of that line and of the schema alone: a JSON object that
    has the schema's columns, and no other names than those.
    """

    def __init__(self, source: str, facts: ReadFacts) -> None:
        self._source, self._facts = source, facts
        self._wanted, self._known = wanted_names(facts)

    def names(self) -> list[str]:
        """Refuse: no line of a file says which names the others have."""
        raise InvalidInputError(
            f"{self._source} has no header, so that no wildcard of the schema has a name to stand "
            "for; list the columns."
        )

    def pieces(self) -> Iterator[RawTable]:
        """Yield some rows at a time, one piece at least."""
        rows, is_first = self._rows(), True
        while (part := list(islice(rows, _ROWS))) or is_first:
            columns = {name: as_objects(row[name] for _, row in part) for name in self._wanted}
            where = partial(_line, [number for number, _ in part])
            yield RawTable(columns, len(part), self._source, where)
            is_first = False

    def partitions(self) -> list[str]:
        """Return the addresses of the files, each by itself: an engine may read them apart."""
        return [f"{_SCHEME}{path}" for path in self._paths()]

    def digest(self) -> str:
        """Return a text that changes when the files do: their sizes and times."""
        found = [(stat.st_size, stat.st_mtime_ns) for stat in map(os.stat, self._paths())]
        return repr(found)

    def check(self) -> None:
        """Raise what a malformed line raises, before any cell is looked at."""
        for _ in self._rows():
            pass

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number of each line that is a row, and its values."""
        for path in self._paths():
            for piece in read_pieces(path, _CUT):
                lines = piece.content.splitlines()
                for number, line in enumerate(lines, piece.lines_before + 1):
                    row = _object(line)
                    if row is not None and set(self._wanted) <= set(row) <= self._known:
                        yield number, row
                    elif line.strip() and not self._facts.drop:
                        raise DataError(
                            f"{path}, line {number}: no JSON object of the schema's columns."
                        )

    def _paths(self) -> list[str]:
        if not os.path.isdir(self._source):
            return [self._source]
        return sorted(entry.path for entry in os.scandir(self._source))


def open_jsonl(source: str, facts: ReadFacts) -> JsonLines:
    """Return the file, of any name after ``jsonl://``; InvalidInputError for a schema with a
    width."""
    if facts.schema.width is not None:
        raise InvalidInputError("JSON lines have named columns: their schema has no width.")
    return JsonLines(source.removeprefix(_SCHEME), facts)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # whose text quotes the row
        return None
    return found if isinstance(found, dict) else None


def _line(numbers: list[int], row: int) -> str:
    return f"line {numbers[row]}"
