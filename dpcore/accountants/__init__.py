"""Accountants: immutable filters that add up what releases cost and refuse the one too many."""

from dpcore.accountants.gdp import GdpAccountant
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.rdp import RdpAccountant
from dpcore.accountants.single import SingleReleaseAccountant
from dpcore.accountants.zcdp import ZcdpAccountant

__all__ = [
    "GdpAccountant",
    "PureAccountant",
    "RdpAccountant",
    "SingleReleaseAccountant",
    "ZcdpAccountant",
]
