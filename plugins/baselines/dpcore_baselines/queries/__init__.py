"""Sums over rows that several algorithms ask for, and a descent that takes them."""
