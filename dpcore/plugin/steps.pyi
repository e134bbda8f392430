"""The names of ``dpcore.plugin.steps``, for authors of releases beside a fit.

A step decides what is asked of the rows. It is inside the trust boundary, and the statement names
it.
"""

from dpcore.fitting.steps.budget_share import StepSession
from dpcore.fitting.steps.facts import Phase
from dpcore.fitting.steps.pre_fit_release import mechanism_for
from dpcore.fitting.steps.step import OneRelease, Outcome, Section
from dpcore.fitting.steps.views import PublicFacts, ResultView
from dpcore.registry.step_options import StepOption

__all__ = [
    "OneRelease",
    "Outcome",
    "Phase",
    "PublicFacts",
    "ResultView",
    "Section",
    "StepSession",
    "StepOption",
    "mechanism_for",
]
