"""The names of ``dpcore.plugin.steps``, for authors of releases beside a fit.

A step decides what is asked of the rows. It is inside the trust boundary, and the statement names
it.
"""

from dpcore.fitting.pre_fit_release import mechanism_for, norm_of
from dpcore.fitting.step_facts import Phase, RowsAsked
from dpcore.fitting.step_shares import ShareDoor
from dpcore.fitting.step_views import PublicFacts, ResultView
from dpcore.fitting.steps import OneRelease, Outcome, RunStep, Section
from dpcore.registry.step_options import StepOption

__all__ = [
    "OneRelease",
    "Outcome",
    "Phase",
    "PublicFacts",
    "ResultView",
    "RowsAsked",
    "RunStep",
    "Section",
    "ShareDoor",
    "StepOption",
    "mechanism_for",
    "norm_of",
]
