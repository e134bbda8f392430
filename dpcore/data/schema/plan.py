"""The plan of a column: all that reading its cells takes, worked out when the schema is built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.data.schema.features.encoding import Encoding
from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.transforms import Lookup, Number, Reading
from dpcore.data.schema.label import Label
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.vocabulary import Vocabulary

__all__ = ["ColumnPlan"]

_MOST_SHOWN = 8


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

    @classmethod
    def of(cls, column: FeatureColumn | Label, notation: Notation) -> ColumnPlan:
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
        return cls(
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

    def places(self, found: np.ndarray) -> np.ndarray:
        """Return what the lookup says of the positions of values among the listed ones, int32."""
        lookup = self.reading
        if not isinstance(lookup, Lookup) or lookup.places is None:
            return found
        places = np.array([*lookup.places, Lookup.ABSENT, Lookup.UNKNOWN], dtype=np.int32)
        return np.asarray(places[found])

    def places_of_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return the place that the lookup has for each number, or UNKNOWN or ABSENT: int32.
        ``numbers`` : float64, NaN for none."""
        assert isinstance(self.reading, Lookup)
        if self.vocabulary is not None:
            return self.places(self.vocabulary.of_numbers(numbers))
        found = _positions(numbers, np.array(self.reading.values, dtype=np.float64))
        return self.places(np.where(np.isfinite(numbers), found, np.int32(Lookup.ABSENT)))

    def labels(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
        """Return labels as rows hold them, which are faults, and the reason. ``found`` : numbers of
        a real-valued target, else places of classes, UNKNOWN or ABSENT for none."""
        label = self.column
        assert isinstance(label, Label)
        if label.is_real:
            return label.target_of(found), ~np.isfinite(found), "the label is not a finite number"
        fault = found < 0 if self.others is None else found == Lookup.ABSENT
        places = np.where(found < 0, self.others or 0, found)
        return label.labels_at(places), fault, _no_class(label, self.others) if fault.any() else ""


def _reading_of_label(label: Label) -> Reading:
    """Return a reading of the target, or of the place of a value's class."""
    if label.is_real:
        return Number()
    places = (place for place, values in enumerate(label.classes) for _ in values)
    return Lookup(label.values, tuple(places), unknown="fault")


def _positions(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the position of each number among ``values``, or UNKNOWN: int32."""
    order = np.argsort(values)
    found = order[np.minimum(np.searchsorted(values, cells, sorter=order), len(values) - 1)]
    return np.where(values[found] == cells, found, Lookup.UNKNOWN).astype(np.int32)


def _no_class(column: Label, others: int | None) -> str:
    """Return why a label is none, with the public classes."""
    if others is not None:
        return f"the label is missing{', or no number' if column.takes_numbers else ''}"
    values = column.values
    shown = [*map(repr, values[:_MOST_SHOWN]), *(["..."] if len(values) > _MOST_SHOWN else [])]
    return (
        f"the label is not one of the classes {', '.join(shown)}, which `classes` sets"
        + (" (fit's default; name your own, as in classes=('no', 'yes'))" * ([*values] == [-1, 1]))
        + ": list it there, or let a schema's `other` name a class for all other values"
    )
