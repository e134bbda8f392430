"""A connection to PostgreSQL that gives up a server from which nothing comes.

The timeouts of the server and of TCP do not help against a backend that is frozen, or paged out:
its machine answers for it, and nothing runs that could count the seconds.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg

__all__ = ["SILENCE", "PatientConnection"]

SILENCE = 20.0
"""Seconds without a byte from the server: longer than it waits for the ledger's lock."""


class PatientConnection(psycopg.Connection[Any]):
    """A connection whose operations raise OperationalError after ``SILENCE`` seconds in which the
    server neither took nor sent anything. It is to be closed then."""

    def wait(self, gen: Any, *others: Any, **named: Any) -> Any:
        return super().wait(_answered(gen), *others, **named)


def _answered(operation: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Yield what an operation waits for, as it does, and send it what is ready: nothing, now and
    then, so that the seconds are counted."""
    until = time.monotonic() + SILENCE
    try:
        wants = next(operation)
        while True:
            ready = yield wants
            if ready:
                until = time.monotonic() + SILENCE
            elif time.monotonic() > until:
                raise psycopg.OperationalError(f"no answer for {SILENCE:g} seconds")
            wants = operation.send(ready)
    except StopIteration as done:
        return done.value
