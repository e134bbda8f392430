"""The names of ``dpcore.plugin.columns``, for authors of kinds of column.

A kind says what becomes of private cells. It is inside the trust boundary, and the statement names
it.
"""

from dpcore.data.schema.features.encoding import Encoding
from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.transforms import (
    Affine,
    Bin,
    Clip,
    DatePart,
    Day,
    Hash,
    Hat,
    Log,
    Lookup,
    Number,
    OneHot,
    Parsed,
    Truth,
)
from dpcore.data.schema.keys import ColumnKind, Key
from dpcore.data.schema.values import Entry

__all__ = [
    "Affine",
    "Bin",
    "Clip",
    "ColumnKind",
    "DatePart",
    "Day",
    "Encoding",
    "Entry",
    "FeatureColumn",
    "Hash",
    "Hat",
    "Key",
    "Log",
    "Lookup",
    "Number",
    "OneHot",
    "Parsed",
    "Truth",
]
