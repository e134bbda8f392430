"""Cells of a source to numbers and codes, each by itself alone."""
