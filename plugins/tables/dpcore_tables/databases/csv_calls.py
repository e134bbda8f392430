"""Text files in queries of DuckDB: where it would guess, and where each line is read by itself.

By default DuckDB takes from the rows how a file is written and what types its columns have, so that
one cell changes others: refused. So it does with ``all_varchar = true``, where a line without a
comma makes one column of all lines'. With ``auto_detect = false`` nothing is guessed. A quote still
reaches over the ends of lines, and left open it takes the lines of other people into its cell. So a
call is read line by line where it says that there are no quotes, and all else that matters::

    read_csv('rows.csv', auto_detect = false, header = true, delim = ',', quote = '', escape = '',
             columns = {'age': 'VARCHAR', 'city': 'VARCHAR'})

Then no state of DuckDB's parser outlives the end of a line: a line is a row, or ends the query, and
each cell is its text. Without a header the first row alone loses a byte order mark: ``header =
false`` needs the claim, as does another option (``skip``, ``comment``, ``null_padding``,
``ignore_errors``) or another type.
"""

from __future__ import annotations

import re
from typing import Any

from dpcore_tables.databases.never_asked import called

__all__ = ["guessed_file", "is_by_lines", "named_columns"]

_TEXT_FILE = re.compile(r"\.(csv|tsv|txt|psv|json|jsonl|ndjson)(\.\w+)?($|\?)", re.IGNORECASE)
_GUESSING = ("read_csv", "read_json", "read_ndjson", "sniff_csv")
_TOLD = {"auto_detect", "columns", "delim", "escape", "header", "quote"}


def guessed_file(node: Any, dialect: str) -> str:
    """Return the function of DuckDB, or the file's name, that makes it guess how a text file is
    written; empty for anything else."""
    name = type(node).__name__
    function = "read_csv" if name == "ReadCSV" else called(node).lower()
    if function.startswith(_GUESSING):
        guesses: Any = _options(node).get("auto_detect")
        is_told = type(guesses).__name__ == "Boolean" and not guesses.this
        return "" if is_told and function.startswith("read_csv") else function
    if name != "Table" or dialect != "duckdb" or type(node.this).__name__ != "Identifier":
        return ""
    named = (node.args.get(key) for key in ("catalog", "db", "this"))
    whole = ".".join(part.name for part in named if part is not None)
    return repr(whole) if _TEXT_FILE.search(whole) else ""


def is_by_lines(node: Any) -> bool:
    """Return whether a node calls ``read_csv`` of one name so that each line is read by itself."""
    if type(node).__name__ != "ReadCSV" or not _is_text(node.this):
        return False
    given, told = node.expressions, _options(node)
    if {*told} != _TOLD or len(given) != len(_TOLD):
        return False
    flags = [told[name] for name in ("auto_detect", "header")]
    no_mark = [told[name] for name in ("quote", "escape")]
    delimiter: Any = told["delim"]
    return (
        all(type(flag).__name__ == "Boolean" for flag in flags)
        and [bool(flag.this) for flag in flags] == [False, True]
        and all(_is_text(mark) and not mark.name for mark in no_mark)
        and _is_text(delimiter)
        and (len(delimiter.name) == 1 or delimiter.name == r"\t")  # DuckDB's word for a tab
        and delimiter.name not in "\r\n"
        and _are_texts(told["columns"])
    )


def named_columns(node: Any) -> tuple[str, ...]:
    """Return the names of the columns that a call by lines has."""
    return tuple(each.this.name for each in _options(node)["columns"].expressions)


def _options(node: Any) -> dict[str, Any]:
    import sqlglot.expressions as exp

    given = [each for each in node.expressions if isinstance(each, exp.EQ | exp.PropertyEQ)]
    return {each.this.name.lower(): each.expression for each in given}


def _is_text(node: Any) -> bool:
    return type(node).__name__ == "Literal" and bool(node.is_string)


def _are_texts(columns: Any) -> bool:
    """Return whether columns are named, each once, and all VARCHAR."""
    import sqlglot.expressions as exp

    if not isinstance(columns, exp.Struct) or not columns.expressions:
        return False
    if not all(isinstance(each, exp.PropertyEQ) for each in columns.expressions):
        return False
    names = {each.this.name.lower() for each in columns.expressions}
    kinds = [each.expression for each in columns.expressions]
    is_each_text = all(_is_text(kind) and kind.name.upper() == "VARCHAR" for kind in kinds)
    return is_each_text and len(names) == len(kinds)
