"""The names of ``dpcore.plugin.engines``, for authors of engines that read files.

An engine has the rows: it is inside the trust boundary, and the statement names it.
"""

from dpcore.data.files import BadRows, Files, FrameParts, Registered, RowsElsewhere

__all__ = [
    "BadRows",
    "Files",
    "FrameParts",
    "Registered",
    "RowsElsewhere",
]
