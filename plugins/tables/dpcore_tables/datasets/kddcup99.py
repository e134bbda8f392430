"""KDD Cup 1999, the published tenth (Stolfo et al. 1999): 494,021 connections, normal or attack.

Columns and their meaning are those of the task's own description ("kddcup.names" and "Derived
features"). A normal connection is +1, every attack -1.
"""

from __future__ import annotations

from dataclasses import replace

from dpcore import Schema
from dpcore.plugin.columns import Drop
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets.fetch import RemoteFile, fetch
from dpcore_tables.kinds import Categorical
from dpcore_tables.schemas.shipped import shipped_text

__all__ = ["FILES", "load", "load_numeric", "numeric_schema", "schema"]

FILES = (
    RemoteFile(
        "kddcup.data_10_percent.gz",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/"
        "kddcup.data_10_percent.gz",
        ("8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",),
    ),
)


def schema() -> Schema:
    """Return the schema of all 41 columns: 118 features and the intercept."""
    return Schema.from_toml(shipped_text("kddcup99-10"), "kddcup99-10")


def numeric_schema() -> Schema:
    """Return the schema that drops the three categorical columns: 38 features and the intercept."""
    whole = schema()
    columns = tuple(Drop(c.name) if isinstance(c, Categorical) else c for c in whole.columns)
    return replace(whole, columns=columns)


def load() -> Dataset:
    """Return the rows with one-hot categories, CSR. Raises DataError without the file."""
    return Dataset.from_file(fetch(FILES[0]), schema(), format="csv", name="kddcup99-10")


def load_numeric() -> Dataset:
    """Return the rows' numeric columns, dense. Raises DataError without the file."""
    return Dataset.from_file(
        fetch(FILES[0]), numeric_schema(), format="csv", name="kddcup99-10-numeric"
    )
