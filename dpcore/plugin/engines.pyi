"""The names of ``dpcore.plugin.engines``, for authors of engines that read files.

An engine has the rows: it is inside the trust boundary, and the statement names it.
"""

from dpcore.data.files import BadRows, Files, FrameParts, Registered, RowsElsewhere
from dpcore.privacy.first_party import DISTRIBUTIONS

__all__ = [
    "BadRows",
    "DISTRIBUTIONS",
    "Files",
    "FrameParts",
    "Registered",
    "RowsElsewhere",
]
