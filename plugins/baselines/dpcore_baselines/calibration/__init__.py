"""Calibration of the log odds of two classes by released counts of rows near public knots."""
