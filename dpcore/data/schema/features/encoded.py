"""The features that a schema's columns become, worked out when the schema is built."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpcore.data.schema.columns import Column, Drop, FeatureColumn, Label
from dpcore.data.schema.features.encoding import Part

__all__ = ["EncodedColumns", "encoded_columns"]


@dataclass(frozen=True, slots=True)
class EncodedColumns:
    """The columns that are encoded.

    Parameters
    ----------
    columns : in order, without the label and those that are dropped.
    crossed : the crosses, each with its columns.
    parts : the features of columns and crosses, as rows hold them, in order, without the intercept.
    width : the number of features.
    square : the sum of what each column's kind adds at most to the square of a row's l2 norm, and 1
        for each cross.
    """

    columns: tuple[FeatureColumn, ...]
    crossed: tuple[Any, ...]
    parts: tuple[Part, ...]
    width: int
    square: int

    @property
    def names(self) -> list[str]:
        """A name for each feature."""
        named: list[Any] = [*self.columns, *self.crossed]
        return [name for each in named for name in each.feature_names]


def encoded_columns(columns: Sequence[Column], crosses: Sequence[Any]) -> EncodedColumns:
    """Return the encoded ones of some columns; InvalidInputError for a cross that cannot be."""
    features = tuple(c for c in columns if not isinstance(c, (Label, Drop)))
    found = tuple(cross.over(features) for cross in crosses)
    encodings = [column.encoding for column in features]
    own = (part for encoding in encodings for part in encoding.parts)
    parts = (*own, *(cross.part for cross in found))
    square = sum(encoding.square for encoding in encodings) + len(found)
    return EncodedColumns(features, found, parts, sum(part.width for part in parts), square)
