"""Sums of products of features, with their sensitivities."""
