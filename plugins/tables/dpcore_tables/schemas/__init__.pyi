"""Schemas to start from: templates, those with curves, and those that are read off the rows (not
private)."""

from dpcore_tables.curves import with_curves
from dpcore_tables.schemas.key_reference import reference
from dpcore_tables.schemas.template import schema_template

__all__ = ["reference", "schema_template", "with_curves"]
