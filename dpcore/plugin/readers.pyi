"""The names of ``dpcore.plugin.readers``, for authors of readers and of stores of rows; the others
are in the package that reads tables.

Whatever reads rows is inside the trust boundary, and the statement names it.
"""

from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.data.blocks.layout import Layout
from dpcore.data.loader import FileLoader
from dpcore.data.matrix import ArraySource
from dpcore.data.units import UnitIds

__all__ = [
    "ArraySource",
    "CachedMargins",
    "FileLoader",
    "Layout",
    "UnitIds",
]
