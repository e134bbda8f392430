"""Exact noise: entropy, scales on the integer grid, exact deviates, and the source that draws."""
