"""Rows as a reader hands them over, and its contract."""
