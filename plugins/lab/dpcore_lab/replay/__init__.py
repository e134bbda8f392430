"""Runs that are recorded, and their released values given again on another table."""
