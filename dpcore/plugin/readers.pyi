"""The names of ``dpcore.plugin.readers``, for authors of readers and of stores of rows.

Whatever is built of these sees private rows. It is inside the trust boundary, and the statement
names it.
"""

from dpcore.data.blocks.assemble import assemble
from dpcore.data.blocks.coded import CodedLayout, CodedRows
from dpcore.data.cells.features import coded_layout
from dpcore.data.cells.objects import as_objects
from dpcore.data.readers.raw_matrix import RawMatrix
from dpcore.data.readers.raw_table import RawTable, check_names
from dpcore.data.readers.reader import ReadFacts, wanted_names
from dpcore.data.row_store import RowStore

__all__ = [
    "CodedLayout",
    "CodedRows",
    "RawMatrix",
    "RawTable",
    "ReadFacts",
    "RowStore",
    "as_objects",
    "assemble",
    "check_names",
    "coded_layout",
    "wanted_names",
]
