"""Advice to the owner of a cell that has no reading: by what its text is like, without the text."""

from __future__ import annotations

import math
import re

import numpy as np

from dpcore.plugin.columns import FeatureColumn, Notation, transforms
from dpcore_tables.cells.typed import Cells, empty_cells, text_at
from dpcore_tables.schemas.key_reference import keys_of

__all__ = ["advice_on"]

_WAYS = {"fill": "fill = VALUE", "indicator": "indicator = true"}
"""By their key, the ways to say in a schema what an empty cell becomes."""
_USUAL_WORDS = frozenset(
    ("na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "null", "(null)", "none", "nil", "nat")
    + ("missing", "unknown", "-", "--", ".", "?", "\\n")
)
"""Words of programs and people for no value, in lower case: a public list."""
_DATE = re.compile(
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2[0-9]{4})(?:[T ].*)?"
)


def _other_notations(own: str, other: str) -> dict[str, Notation]:
    """Return other notations than that with the decimal ``own``, by what sets them in a schema."""
    marks_of = {
        f'decimal = "{other}"': (other, ""),
        f'thousands = "{other}"': (own, other),
        f'decimal = "{other}" with thousands = "{own}"': (other, own),
        'thousands = " "': (own, " "),
        f'decimal = "{other}" with thousands = " "': (other, " "),
    }
    return {way: Notation((), *marks) for way, marks in marks_of.items()}


_OTHERS = {own: _other_notations(own, other) for own, other in (".,", ",.")}
"""By the table's decimal. They are made before any cell needs them: Python keeps compiled patterns,
which would tell of the cell."""


def advice_on(cells: Cells, row: int, column: FeatureColumn, notation: Notation) -> str | None:
    """Return what to do about a cell that holds no value, a word that usually means so, or a number
    in another notation than the table's; None for any other. No cell's text is in it but a word of
    the public list."""
    one = cells[row : row + 1] if isinstance(cells, np.ndarray) else cells.slice(row, 1)
    if empty_cells(one, notation.with_words(column.missing))[0]:
        ways = _ways_of(column)
        others = f", or set {ways} for the column in a schema" if ways else ""
        return f"the cell is empty; fill it in{others}"
    word = text_at(cells, row)
    if word is None:
        return None
    if word.lower() in _USUAL_WORDS:
        return _on_word(word, column)
    is_number = isinstance(column.encoding.reading, transforms.Number)
    return _on_number(word, notation) if is_number else None


def _on_word(word: str, column: FeatureColumn) -> str:
    reason = (
        f'the cell is "{word}"; if that is a word for no value, list it in missing = [...] of the '
        "column or of the schema"
    )
    ways = "" if column.indicator or column.fill is not None else _ways_of(column)
    return f"{reason}, with {ways} in the column" if ways else reason


def _ways_of(column: FeatureColumn) -> str:
    """Return the ways that a column's kind has to say what an empty cell becomes."""
    keys = keys_of(column.kind)
    return " or ".join(way for key, way in _WAYS.items() if key in keys)


def _on_number(word: str, notation: Notation) -> str | None:
    if _DATE.fullmatch(word):
        return 'the cell looks like a date, and the column is numeric: kind = "date" may be meant'
    return _on_notation(word, notation)


def _on_notation(word: str, notation: Notation) -> str | None:
    """Return which marks, set in the schema, would make a number of a text; None if none would."""
    others = _OTHERS[notation.decimal]
    fitting = [way for way, other in others.items() if not math.isnan(other.number(word))]
    if not fitting:
        return None
    # The text 1,234 is a number in two ways; one that needs two marks says less of the others.
    both = [way for way in fitting if " with " not in way] or fitting
    ways = " or ".join(both)
    return (
        f"the cell looks like a number in another notation: {ways} in the schema says so (of a "
        "file that a model is to score: dpcore predict --decimal, --thousands)"
    )
