"""Statistics of a table by the same session as models, and the check of a schema."""

from dpcore_tables.statistics.categorical_column import CategoricalColumn
from dpcore_tables.statistics.columns import NumericColumn, column_of, numeric_column
from dpcore_tables.statistics.histogram import Histogram, TwoWayTable
from dpcore_tables.statistics.numeric_sums import NumericSums
from dpcore_tables.statistics.opening import open_session
from dpcore_tables.statistics.quantile import QuantileScores
from dpcore_tables.statistics.schema_check import check_schema

__all__ = [
    "CategoricalColumn",
    "Histogram",
    "NumericColumn",
    "NumericSums",
    "QuantileScores",
    "TwoWayTable",
    "check_schema",
    "column_of",
    "numeric_column",
    "open_session",
]
