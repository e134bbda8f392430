"""Noise on a minimiser, or in the objective that it minimises."""
