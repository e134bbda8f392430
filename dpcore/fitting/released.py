"""The charges and releases of a run, as far as its report asks, and who is told of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dpcore.session.sequential_sessions import ExtendedSession, SequentialSessions
from dpcore.session.session import TableSession

__all__ = ["OnRelease", "Released"]

Released: TypeAlias = TableSession | SequentialSessions | ExtendedSession
"""One session, those of several fits, or either with that of a later step."""
OnRelease: TypeAlias = Callable[[Any], None] | None
"""Is called with that after each release."""
