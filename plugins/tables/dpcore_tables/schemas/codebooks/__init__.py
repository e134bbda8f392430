"""Codebooks: what is known of columns beside the rows, as a template of a schema takes it."""
