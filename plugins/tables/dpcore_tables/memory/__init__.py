"""Rows in memory: frames, lists, and arrays that are not of numbers alone."""
