"""Randomised releases, one file each: what the noise is, what it costs, and why."""
