"""Statistics of a table behind the same door as models, and the check of a schema."""

from dpcore_tables.statistics.opening import open_session
from dpcore_tables.statistics.schema_check import check_schema

__all__ = ["check_schema", "open_session"]
