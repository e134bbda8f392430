"""Intervals of parameters from released sums: noise and sampling both counted."""
