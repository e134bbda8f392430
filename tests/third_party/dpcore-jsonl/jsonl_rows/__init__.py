"""Rows of JSON lines, and rows that are encoded already, for dpcore."""
