"""The names of ``dpcore.plugin.steps``, for authors of releases beside a fit.

A step decides what is asked of the rows. It is inside the trust boundary, and the statement names
it.
"""

from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, require_share
from dpcore.fitting.steps import (
    OneRelease,
    Outcome,
    Phase,
    Request,
    RunStep,
    RunView,
    Section,
)

__all__ = [
    "OneRelease",
    "Outcome",
    "Phase",
    "Request",
    "RunStep",
    "RunView",
    "Section",
    "deviation_of",
    "mechanism_for",
    "norm_of",
    "require_share",
]
