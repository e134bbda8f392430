"""The names of ``dpcore.plugin.engines``, for authors of engines that read files.

An engine has the rows: it is inside the trust boundary, and the statement names it.
"""

from dpcore.data.blocks.layouts import layout_of
from dpcore.data.blocks.table import Table
from dpcore.data.dataset import Dataset
from dpcore.data.files import Files, FrameParts, Registered, RowsElsewhere, RowSource
from dpcore.data.loader import format_of, load_file
from dpcore.data.readers import BadRows
from dpcore.data.schema.schema import Schema
from dpcore.data.units import PartCoins
from dpcore.engines.local import LocalEngine, available_threads, may_overlap
from dpcore.errors import DataError, DpcoreError, EngineError, InvalidInputError, replacing
from dpcore.exact.grid import MOST_FILES
from dpcore.privacy.first_party import DISTRIBUTIONS
from dpcore.protocols import Query
from dpcore.session.rehearsal import load_now

__all__ = [
    "BadRows",
    "DISTRIBUTIONS",
    "DataError",
    "Dataset",
    "DpcoreError",
    "EngineError",
    "Files",
    "FrameParts",
    "InvalidInputError",
    "LocalEngine",
    "MOST_FILES",
    "PartCoins",
    "Query",
    "Registered",
    "RowSource",
    "RowsElsewhere",
    "Schema",
    "Table",
    "available_threads",
    "format_of",
    "layout_of",
    "load_file",
    "load_now",
    "may_overlap",
    "replacing",
]
