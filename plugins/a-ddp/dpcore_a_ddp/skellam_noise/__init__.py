"""Noise of the Skellam distribution, which users add in shares."""
