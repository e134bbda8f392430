"""Calibration of a model's log odds, within the budget of its run."""
