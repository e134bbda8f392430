"""Operating systems that dpcore runs on."""

from __future__ import annotations

import os

__all__ = ["NOT_HERE"]

NOT_HERE = (
    "dpcore runs on Linux and macOS, where files can be locked and kept for their owner alone. On "
    "Windows it runs in the Windows Subsystem for Linux."
    if os.name == "nt"
    else None
)
"""Why nothing runs on this system, if nothing does."""
