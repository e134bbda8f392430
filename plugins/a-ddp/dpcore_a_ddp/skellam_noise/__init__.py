"""Noise of the Skellam law, which users add in shares."""
