"""Cells that are no plain numbers: dates, truth values, hashed texts and ids of units."""
