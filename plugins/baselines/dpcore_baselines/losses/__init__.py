"""Losses of two classes and of numbers that no default of the core takes."""
