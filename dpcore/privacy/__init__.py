"""Costs of releases, the statement of what is promised, and the parts trusted with rows."""
