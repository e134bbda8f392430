"""Fitted models and their files."""
