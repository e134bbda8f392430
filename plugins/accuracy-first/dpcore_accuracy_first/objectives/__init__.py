"""Objectives, their minimisers within a public ball, and the sums that they are found by."""
