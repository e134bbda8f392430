"""A sheet of an Excel or OpenDocument file through python-calamine, cell by cell.

What a cell is says the cell itself: a number, text, a truth value or a date, or nothing. Positions
are those of the sheet, so that no row moves another, and the first row has the names.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_tables.cells.objects import as_objects
from dpcore_tables.raw.raw_table import RawTable, check_names
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.readers.pieces import require_readable

__all__ = ["Sheet", "column_names", "open_excel"]

_SCHEME = "excel://"
_PIECE = 2**15
_Row: TypeAlias = list[Any] | None
_MOST_NAMED = 20
"""Sheets that a message names."""


class Sheet:
    """The rows of one sheet, the first one its header.

    Whether a row is one is a function of that row and of the header: a row with a value beside the
    named columns is malformed, and a row without any value is none.
    """

    def __init__(self, source: str, facts: ReadFacts) -> None:
        self._source, self._facts = source, facts

    def names(self) -> list[str]:
        """Return the names in the first row; DataError if a column with values has none."""
        return column_names(self._source)

    def pieces(self) -> Iterator[RawTable]:
        """Yield some rows at a time, one piece at least."""
        sheet = _rows(self._source)
        names = _header(sheet, self._source)
        wanted = check_names(names, self._facts.schema, self._source, self._facts.labelled)
        places = [names.index(name) for name in wanted]
        rows, is_first = self._whole(sheet, len(names)), True
        while (part := list(islice(rows, _PIECE))) or is_first:
            columns = {
                name: as_objects(_plain(row[place]) for _, row in part)
                for name, place in zip(wanted, places, strict=True)
            }
            numbers = [number for number, _ in part]
            yield RawTable(columns, len(part), self._source, partial(_where, numbers))
            is_first = False

    def check(self) -> None:
        """Raise the DataError of a malformed row, before any cell is looked at."""
        sheet = _rows(self._source)
        for _ in self._whole(sheet, len(_header(sheet, self._source))):
            pass

    def _whole(self, rows: Iterator[_Row], width: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number in the sheet of each row, from 2, and the row."""
        for number, row in enumerate(rows, 2):
            if row is None or any(cell != "" for cell in row[width:]):
                if not self._facts.drop:
                    what = "a cell that is no value" if row is None else "a cell beside the columns"
                    raise DataError(
                        f"{self._source}, row {number}: {what}. The names in row 1 are those of "
                        "the columns."
                    )
            elif any(cell != "" for cell in row):
                yield number, row


def open_excel(source: str, facts: ReadFacts) -> Sheet:
    """Return a file with one sheet, or the named sheet of ``excel://FILE#SHEET``.

    Raises InvalidInputError for a schema with a width, and where python-calamine is missing.
    """
    if facts.schema.width is not None:
        raise InvalidInputError("A sheet has named columns: its schema has no width.")
    _calamine()
    return Sheet(source, facts)


def column_names(source: str) -> list[str]:
    """Return the names in the first row of a sheet; DataError if a column with values has none."""
    return _header(_rows(source), source)


def _header(rows: Iterator[_Row], source: str) -> list[str]:
    cells = next(rows, None) or []
    first = [f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells]
    names = first[: next((i for i, name in enumerate(first) if not name), len(first))]
    if not names or any(first[len(names) :]):
        raise DataError(
            f"{source}: expected the names of the columns in the first row of the sheet, side by "
            "side from the first cell on."
        )
    return names


def _rows(source: str) -> Iterator[_Row]:
    """Yield the rows of a sheet, each a list of cells, and ``None`` in the place of a row with a
    cell that no value can be made of, such as a date out of range. DataError for a file that cannot
    be read, and for a sheet that begins elsewhere than in its first cell."""
    calamine, (path, sheet) = _calamine(), _place(source)
    require_readable(path)
    kinds = calamine.CalamineError, OSError
    with (
        replacing(*kinds, by=partial(_fault_of, path)),
        closing(calamine.CalamineWorkbook.from_path(path)) as book,
    ):
        name = _named(path, sheet, book.sheet_names)
        _require_readable(path, name)
        sheet = book.get_sheet_by_name(name)
        if sheet.start == (0, 0):
            yield from _converted(sheet.iter_rows())


def _converted(rows: Iterator[list[Any]]) -> Iterator[_Row]:
    end: list[Any] = []
    while True:
        row: _Row = None
        try:
            row = next(rows, end)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # The library's own is none of Exception's.
            pass
        if row is end:
            return
        yield row


def _fault_of(path: str, error: Exception) -> DataError:
    if type(error).__name__ == "PasswordError":
        return DataError(f"{path}: it is encrypted; save it without a password.")
    return DataError(f"{path}: not a whole Excel file ({type(error).__name__}).")


def _place(source: str) -> tuple[str, str]:
    """Return the path of a file and the name of its sheet, empty where none is named."""
    if not source.startswith(_SCHEME):
        return source, ""
    address = source.removeprefix(_SCHEME)
    path, _, sheet = address.rpartition("#")
    return (path, sheet) if path else (address, "")


def _named(path: str, sheet: str, sheets: Sequence[str]) -> str:
    """Return the name of the sheet to read; InvalidInputError where it is not clear which."""
    if sheet in sheets or not sheet and len(sheets) == 1:
        return sheet or sheets[0]
    known = ", ".join(map(repr, sheets[:_MOST_NAMED]))
    which = f"no sheet {sheet!r}" if sheet else f"{len(sheets)} sheets"
    raise InvalidInputError(f"{path} has {which}: name one of {known} as excel://{path}#SHEET.")


def _calamine() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise InvalidInputError(
            "Excel files are read by python-calamine: pip install 'dpcore-tables[excel]'. Or save "
            "the sheet as CSV."
        ) from None
    return python_calamine


def _require_readable(path: str, sheet: str) -> None:
    """Raise DataError for a sheet that ends the process that loads it.

    A damaged file may name a cell so far off that its sheet is larger than memory, and the library
    then aborts. So another process loads it first; what raises an error there raises it here too.
    """
    load = "import sys, python_calamine as p; p.load_workbook(sys.argv[1])"
    command = f"{load}.get_sheet_by_name(sys.argv[2])"
    run = subprocess.run([sys.executable, "-c", command, path, sheet], capture_output=True)
    if run.returncode not in (0, 1):
        raise DataError(f"{path}: not a whole Excel file: its sheet is larger than memory.")


def _plain(cell: Any) -> Any:
    """Return a cell, a time or a duration as its text."""
    return str(cell) if isinstance(cell, (datetime.time, datetime.timedelta)) else cell


def _where(numbers: Sequence[int], row: int) -> str:
    return f"row {numbers[row]}"
