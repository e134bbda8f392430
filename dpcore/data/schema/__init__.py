"""The public description of a table."""
