"""The kinds of column of the core: all that is public about each of them."""

from typing import TypeAlias

from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.numeric import Numeric
from dpcore.data.schema.label import Drop, Label

__all__ = [
    "Column",
    "Drop",
    "FeatureColumn",
    "Label",
    "Numeric",
]

Column: TypeAlias = FeatureColumn | Label | Drop
