"""Metrics of a model on rows held out, released with noise: counts, and what follows from them."""
