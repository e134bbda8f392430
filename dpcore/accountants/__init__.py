"""Accountants: immutable filters that add up what releases cost and refuse the one too many."""

from dpcore.accountants.additive import AdditiveAccountant
from dpcore.accountants.advanced_composition import AdvancedCompositionAccountant
from dpcore.accountants.gdp import GdpAccountant
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.rdp import RdpAccountant
from dpcore.accountants.sampling_composition import SamplingCompositionAccountant
from dpcore.accountants.single import SingleReleaseAccountant
from dpcore.accountants.whole_schedule import WholeAccountant
from dpcore.accountants.zcdp import ZcdpAccountant

__all__ = [
    "ACCOUNTANTS",
    "SCHEDULE_ACCOUNTANTS",
    "AdvancedCompositionAccountant",
    "GdpAccountant",
    "PureAccountant",
    "RdpAccountant",
    "SamplingCompositionAccountant",
    "SingleReleaseAccountant",
    "ZcdpAccountant",
]

ACCOUNTANTS: tuple[type[AdditiveAccountant], ...] = (
    ZcdpAccountant,
    GdpAccountant,
    RdpAccountant,
    PureAccountant,
)
"""Those that add up any number of releases."""

SCHEDULE_ACCOUNTANTS: tuple[type[WholeAccountant], ...] = (
    SamplingCompositionAccountant,
    AdvancedCompositionAccountant,
)
"""Those whose theorem is about a schedule fixed beforehand."""
