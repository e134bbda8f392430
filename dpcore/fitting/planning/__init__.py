"""The plan of a fit: its parts built and checked, before any data are asked."""
