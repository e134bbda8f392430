"""Rows in memory as they are: frames, arrays, and the contract of a reader of files."""

from typing import Literal

__all__ = ["BadRows"]

BadRows = Literal["refuse", "drop"]
"""Whether a row that does not satisfy the schema is an error, or is left out."""
