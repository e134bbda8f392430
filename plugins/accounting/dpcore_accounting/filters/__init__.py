"""Filters: accountants of releases that are chosen from earlier outputs."""
