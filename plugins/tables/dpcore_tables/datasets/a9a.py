"""a9a: Adult as coded for LIBSVM (Platt 1998), 48,842 rows of 123 binary features.

Each of the 14 attributes became a group of binary features, at most one of them 1 (numbers by
quintiles), so that a row has norm sqrt(14) at most, sqrt(15) with the intercept.
"""

from __future__ import annotations

import math

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets.fetch import RemoteFile, fetch

__all__ = ["FILES", "load", "schema"]

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
FILES = (
    RemoteFile(
        "a9a",
        _LIBSVM + "a9a",
        (
            # A copy in circulation that lacks one row, the only one with feature 123.
            "d689d9b7683f4345988411d82769196e45492eeb2334fa08aff7b39d0ead95ee",
            # That copy with the row put back from adult.data: 32,561 rows.
            "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
        ),
    ),
    RemoteFile(
        "a9a.t",
        _LIBSVM + "a9a.t",
        ("1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",),
    ),
)


def schema() -> Schema:
    """Return the published width, classes and number of rows."""
    return Schema.from_dict(
        {
            "width": 123,
            "row_norm": math.nextafter(math.sqrt(15.0), math.inf),
            "rows": 48842,
            "header": False,
            "separator": "whitespace",
            "columns": {"label": {"kind": "label", "classes": [-1, 1]}},
        }
    )


def load() -> Dataset:
    """Return the rows of both files. Raises DataError if a file cannot be had."""
    from dpcore_tables.files import assemble
    from dpcore_tables.files.stream import encode_piece
    from dpcore_tables.readers.libsvm import LibsvmFile

    columns = schema()
    files = [LibsvmFile(str(fetch(file)), 123) for file in FILES]
    pieces = (encode_piece(raw, columns) for file in files for raw in file.pieces())
    return Dataset.from_rows("a9a", assemble(pieces), columns)
