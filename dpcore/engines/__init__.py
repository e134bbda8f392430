"""Engines answer queries exactly; their answers go to the session only."""
