"""Outcomes of random draws, counted and compared: tests of what a release states."""
