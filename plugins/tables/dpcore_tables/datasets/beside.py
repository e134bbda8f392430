"""Data sets of the papers whose files are yours to bring: nothing is downloaded, and no hash is
known. Whoever puts a file there vouches for it; its rows have to satisfy the shipped schema.

IPUMS-BR and IPUMS-US (Lee & Kifer 2018; Chen, Lee & Kifer 2019) are extracts under the licence of
IPUMS; Buzz (Kawala, Douzal, Gaussier & Diemert 2013; Ligett et al. 2017) is the regression task of
Twitter.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dpcore import Schema
from dpcore.errors import DataError
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets.fetch import DATA_DIR_VARIABLE
from dpcore_tables.schemas.shipped import shipped_text

__all__ = ["FILES", "Beside", "load_buzz_twitter", "load_ipums_br", "load_ipums_us"]


@dataclass(frozen=True)
class Beside:
    """A file that has to be there: its name, the reader of it, what is in it, where it is from."""

    name: str
    format: str
    holds: str
    source: str


_CODED = "52 numbers and the label (0 or 1), with blanks between them and no header"
FILES = {
    "ipums-br": Beside(
        "IPUMS-BR.dat",
        "whitespace",
        f"38,000 rows of {_CODED}",
        "the folder dataset of https://github.com/ppmlguy/DP-AGD, the code of Lee & Kifer (2018), "
        "under the licence of https://international.ipums.org",
    ),
    "ipums-us": Beside(
        "IPUMS-US.dat",
        "whitespace",
        f"40,000 rows of {_CODED}",
        "an extract of https://usa.ipums.org, under its licence, coded as Lee & Kifer (2018) did",
    ),
    "buzz-twitter": Beside(
        "Twitter.data",
        "csv",
        "583,250 rows of 77 measures and the number to predict, with commas and no header",
        "regression.tar.gz of https://archive.ics.uci.edu/dataset/248/buzz+in+social+media",
    ),
}


def load_ipums_br() -> Dataset:
    """Return the rows of IPUMS-BR. Raises DataError without the file."""
    return _load("ipums-br")


def load_ipums_us() -> Dataset:
    """Return the rows of IPUMS-US. Raises DataError without the file."""
    return _load("ipums-us")


def load_buzz_twitter() -> Dataset:
    """Return the rows of Buzz, for ``--loss ridge``. Raises DataError without the file."""
    return _load("buzz-twitter")


def _load(name: str) -> Dataset:
    file = FILES[name]
    folder = os.environ.get(DATA_DIR_VARIABLE)
    path = Path(folder or ".") / file.name
    if not path.is_file():
        raise DataError(
            f"The data set {name} is the file {file.name}, which is not downloaded: put it into a "
            f"folder of your choice and set {DATA_DIR_VARIABLE} to that folder. It has "
            f"{file.holds}, and is from {file.source}."
        )
    schema = Schema.from_toml(shipped_text(name), name)
    return Dataset.from_file(path, schema, format=file.format, name=name)
