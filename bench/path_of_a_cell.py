"""The path of a cell: files and functions of dpcore between a CSV file and a table.

    python bench/path_of_a_cell.py [--route]

A file of three columns (a number, a category, a label) and two rows becomes a table in one chunk.
It prints how many files of dpcore are entered, how many functions, and how often a call goes to
another file than the call before it; with ``--route`` each file in turn, with the functions called.
"""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import dpcore
from dpcore import Schema
from dpcore.plugin.parts import Dataset

SCHEMA = """
[columns]
age = { kind = "numeric", lower = 17, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel", "Genf"] }
income = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = "age,city,income\n20,Bern,no\n30,Genf,yes\n"


class CellPath(NamedTuple):
    """Files entered, functions called, changes of file, and the calls themselves, in order."""

    files: int
    functions: int
    changes: int
    calls: list[tuple[str, str]]


def measured() -> CellPath:
    """Return the path of the second of two files: the first imports what is missing."""
    root, calls = os.path.dirname(dpcore.__file__), []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            place = os.path.relpath(code.co_filename, root)
            calls.append((place, f"{code.co_name}:{code.co_firstlineno}"))

    schema = Schema.from_toml(SCHEMA)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.write_text(ROWS)
        Dataset.from_file(file, schema).table()
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            Dataset.from_file(file, schema).table()
        finally:
            sys.setprofile(before)
    files = [place for place, _ in calls]
    changes = sum(a != b for a, b in zip(files, files[1:], strict=False))
    return CellPath(len(set(files)), len(set(calls)), changes, calls)


def main() -> None:
    path = measured()
    print(f"{path.files} files, {path.functions} functions, {path.changes} changes of file")
    if "--route" in sys.argv[1:]:
        for file, calls in groupby(path.calls, key=lambda call: call[0]):
            print(f"{file}: {', '.join(name.partition(':')[0] for _, name in calls)}")


if __name__ == "__main__":
    main()
