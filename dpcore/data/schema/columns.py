"""The kinds of column of the core: all that is public about each of them."""

from typing import Any, TypeAlias

from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.numeric import Numeric
from dpcore.data.schema.label import Drop, Label
from dpcore.moved import moved_name

__all__ = [
    "Column",
    "Drop",
    "FeatureColumn",
    "Label",
    "Numeric",
]

Column: TypeAlias = FeatureColumn | Label | Drop


def __getattr__(name: str) -> Any:
    return moved_name(__name__, name)
