"""Checks at the sizes of a run: its rows, columns, classes, units, noise and releases."""
