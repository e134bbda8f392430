"""Lower bounds of an epsilon, measured on what the code gives out, beside the epsilon it claims.

An audit works on rows that it makes itself: it has no way to be given a table.
"""

from __future__ import annotations

from dpcore_lab.audit.claim import ALARM, Claim, Counts
from dpcore_lab.audit.two_world import Finding, audit_worlds

__all__ = ["ALARM", "Claim", "Counts", "Finding", "audit_worlds"]
