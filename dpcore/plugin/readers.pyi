"""The names of ``dpcore.plugin.readers``, for authors of stores of rows.

A store sees private rows. It is inside the trust boundary, and the statement names it.
"""

from dpcore.data.blocks.assemble import assemble
from dpcore.data.blocks.coded import CodedLayout, CodedRows
from dpcore.data.row_store import RowStore

__all__ = ["CodedLayout", "CodedRows", "RowStore", "assemble"]
