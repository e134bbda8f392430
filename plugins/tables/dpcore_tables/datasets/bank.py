"""Bank marketing (Moro, Cortez & Rita 2014): does a client subscribe to a term deposit?

``BANK.dat``: the 45,211 rows of UCI's ``bank-full.csv`` as numbers between blanks, 32 features and
the label, as coded by Lee & Kifer (2018): indicators of all but one value of job, marital status,
education, contact and outcome; month and day as 30 month + day.
"""

from __future__ import annotations

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets.fetch import RemoteFile, fetch
from dpcore_tables.schemas.shipped import shipped_text

__all__ = ["FILES", "load", "schema"]

FILES = (
    RemoteFile(
        "BANK.dat",
        "https://raw.githubusercontent.com/ppmlguy/DP-AGD/"
        "025dde9e97497c2cd7d6670a25527ccd7f49f35c/dataset/BANK.dat",
        ("fe536a257d242b1fb78dd0e753d2c50176ef12a5dd23dfb86402f62127a3b96e",),
    ),
)


def schema() -> Schema:
    """Return the schema: 32 features and the intercept, with round public bounds."""
    return Schema.from_toml(shipped_text("bank"), "bank")


def load() -> Dataset:
    """Return the rows. Raises DataError if the file cannot be had."""
    return Dataset.from_file(fetch(FILES[0]), schema(), name="bank")
