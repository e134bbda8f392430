"""Encoded rows in blocks of a fixed size, in three layouts."""
