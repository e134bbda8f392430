"""KDD Cup 1999, the published tenth, by the task's own five classes: normal, dos, probe, r2l, u2r.

Rows and columns are those of ``kddcup99-10``. The classes of the attacks are public: the task's
description names them (Stolfo et al. 1999). 52 rows of 494,021 are u2r.
"""

from __future__ import annotations

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets.fetch import fetch
from dpcore_tables.datasets.kddcup99 import FILES
from dpcore_tables.schemas.shipped import shipped_text

__all__ = ["load", "schema"]

_NAME = "kddcup99-10-classes"


def schema() -> Schema:
    """Return the schema of all 41 columns: 118 features and the intercept."""
    return Schema.from_toml(shipped_text(_NAME), _NAME)


def load() -> Dataset:
    """Return the rows with one-hot categories, CSR. Raises DataError without the file."""
    return Dataset.from_file(fetch(FILES[0]), schema(), format="csv", name=_NAME)
