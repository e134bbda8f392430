"""Metrics of a model on rows, computed without privacy: for the owner's eyes, in no file."""
