"""Bounds of columns that nobody knows: released from the run's own budget, before encoding."""
