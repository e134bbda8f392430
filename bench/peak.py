"""The peak memory of a process: of this one, since it began to run its own program."""

import resource
import sys

__all__ = ["peak_bytes"]


def peak_bytes() -> int:
    """Return the most memory that was resident at a time.

    On Linux from ``VmHWM``: ``ru_maxrss`` starts at what the process that made this one held.
    """
    if sys.platform == "linux":
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
