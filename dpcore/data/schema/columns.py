"""The kinds of column that a schema knows: all that is public about each of them."""

from __future__ import annotations

from typing import TypeAlias

from dpcore.data.schema.dates import Date
from dpcore.data.schema.feature_column import FeatureColumn
from dpcore.data.schema.hashed import Hashed
from dpcore.data.schema.label import Drop, Label
from dpcore.data.schema.levels import (
    Boolean,
    Categorical,
    Ordinal,
)
from dpcore.data.schema.numeric import Binned, Numeric, Piecewise
from dpcore.data.schema.unbounded import (
    Unbounded,
    UnboundedLabel,
)

__all__ = [
    "Binned",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Drop",
    "FeatureColumn",
    "Hashed",
    "Label",
    "Numeric",
    "Ordinal",
    "Piecewise",
    "Unbounded",
    "UnboundedLabel",
    "Waiting",
]

Column: TypeAlias = FeatureColumn | Label | Drop
Waiting: TypeAlias = Unbounded | UnboundedLabel
"""A column whose bounds are still to be released."""
