"""Words for what a schema makes of a column's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["encoding_in_words"]


def encoding_in_words(column: Mapping[str, Any]) -> str:
    """Return what becomes of a number or a date between bounds, where its column of a schema says
    it, with a comma before."""
    scale = ", by its logarithm" if column.get("scale") == "log" else ""
    parts = f", with {' and '.join(column['parts'])}" if "parts" in column else ""
    return scale + parts + (f", with a curve of {n} knots" if (n := column.get("knots")) else "")
