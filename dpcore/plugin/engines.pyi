"""The names of ``dpcore.plugin.engines``, for authors of engines that read files.

An engine has the rows: it is inside the trust boundary, and the statement names it.
"""

from dpcore.data.blocks.table import Table
from dpcore.data.files import Files, RowsElsewhere
from dpcore.data.readers import BadRows, format_of
from dpcore.data.schema.schema import Schema
from dpcore.data.store import convert, open_store
from dpcore.data.store.format import Description
from dpcore.engines.local import LocalEngine, available_threads, may_overlap
from dpcore.errors import DataError, DpcoreError, EngineError, InvalidInputError
from dpcore.exact.grid import MOST_FILES
from dpcore.protocols import Query
from dpcore.session.rehearsal import load_now

__all__ = [
    "BadRows",
    "DataError",
    "Description",
    "DpcoreError",
    "EngineError",
    "Files",
    "InvalidInputError",
    "LocalEngine",
    "MOST_FILES",
    "Query",
    "RowsElsewhere",
    "Schema",
    "Table",
    "available_threads",
    "convert",
    "format_of",
    "load_now",
    "may_overlap",
    "open_store",
]
