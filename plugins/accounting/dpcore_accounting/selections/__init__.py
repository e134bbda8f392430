"""Mechanisms that select the largest of several utilities."""
