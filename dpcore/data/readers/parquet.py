"""Parquet files through pyarrow."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.data.raw_table import RawTable, check_names
from dpcore.data.schema import Schema
from dpcore.errors import DataError

__all__ = ["read_parquet", "read_parquet_types"]


def read_parquet(path: str, schema: Schema, *, labelled: bool = True) -> RawTable:
    """Return the schema's columns of a Parquet file; DataError if it is unreadable or lacks one."""
    names = [name for name, _ in read_parquet_types(path)]
    wanted = check_names(names, schema, path, labelled)
    try:
        table = pq.ParquetFile(path).read(columns=wanted)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    columns = {name: table.column(name) for name in wanted}
    return RawTable(columns, table.num_rows, path, lambda row: f"row {row + 1}")


def read_parquet_types(path: str) -> list[tuple[str, pa.DataType]]:
    """Return the names and types of the columns, without reading a row."""
    try:
        arrow = pq.ParquetFile(path).schema_arrow
    except FileNotFoundError:
        raise DataError(f"No such file: {path}.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return [(field.name, field.type) for field in arrow]


def _unreadable(path: str, error: Exception) -> DataError:
    return DataError(
        f"{path}: not a whole Parquet file ({type(error).__name__}); it may be cut short."
    )
