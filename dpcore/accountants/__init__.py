"""Accountants: immutable filters that add up what releases cost and refuse the one too many."""

from dpcore.accountants.gdp import GdpAccountant
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.zcdp import ZcdpAccountant

__all__ = [
    "GdpAccountant",
    "PureAccountant",
    "ZcdpAccountant",
]
