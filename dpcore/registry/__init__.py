"""Names and what they stand for: hooks, the catalogue of plugins, what a plugin declares."""
