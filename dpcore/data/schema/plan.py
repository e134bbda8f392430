"""The plan of a column: all that reading its cells takes, worked out when the schema is built."""

from dataclasses import dataclass

from dpcore.data.schema.features.encoding import Encoding
from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.transforms import Lookup, Number, Reading
from dpcore.data.schema.label import Label
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.vocabulary import Vocabulary

__all__ = ["ColumnPlan", "column_plan"]


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """All that a cell of a column is read and encoded by: public facts, and nothing of a cell.

    Parameters
    ----------
    column, name : the column and its name.
    reading, notation : how a cell is read; ``notation`` has the column's own words for no value.
    encoding : of a feature column; ``None`` of the label.
    vocabulary : the listed texts of a lookup; ``None`` where numbers are listed, or nothing is.
    takes_empty : whether the schema says what becomes of an empty cell.
    empty_level : the level of an empty cell, of a column whose reading is its level.
    tries_numbers : whether text is worth being tried as numbers, all at once.
    others : the place of a label's class of values that none lists; ``None`` where they are faults.
    """

    column: FeatureColumn | Label
    name: str
    reading: Reading
    notation: Notation
    encoding: Encoding | None
    vocabulary: Vocabulary | None
    takes_empty: bool
    empty_level: int | None
    tries_numbers: bool
    others: int | None


def column_plan(column: FeatureColumn | Label, notation: Notation) -> ColumnPlan:
    """Return the plan of a column under the notation of the table."""
    notation = notation.with_words(column.missing)
    encoding, reading = None, _reading_of_label(column) if isinstance(column, Label) else None
    takes_empty, empty_level = False, None
    if not isinstance(column, Label):
        encoding = column.encoding
        reading, takes_empty = encoding.reading, encoding.indicator or encoding.fill is not None
        if encoding.is_code and takes_empty:
            last = encoding.parts[0].width - 1
            empty_level = last if encoding.indicator else int(encoding.stand_in)
    assert reading is not None
    vocabulary = None
    if isinstance(reading, Lookup) and not reading.takes_numbers:
        vocabulary = Vocabulary(tuple(map(str, reading.values)), notation.missing)
    return ColumnPlan(
        column,
        column.name,
        reading,
        notation,
        encoding,
        vocabulary,
        takes_empty,
        empty_level,
        reading.takes_numbers and not column.missing,
        column.place_of_others if isinstance(column, Label) else None,
    )


def _reading_of_label(label: Label) -> Reading:
    """Return a reading of the target, or of the place of a value's class."""
    if label.is_real:
        return Number()
    places = (place for place, values in enumerate(label.classes) for _ in values)
    return Lookup(label.values, tuple(places), unknown="fault")
