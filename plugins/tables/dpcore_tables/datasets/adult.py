"""UCI Adult (Kohavi 1996): does a person of the 1994 census earn more than 50,000 dollars a year?

``adult.data`` and ``adult.test`` together, 48,842 rows. Columns, categories and classes are those
of ``adult.names``; ``?`` is a category of its own where the file has it. The numeric bounds are
the ranges published with the file of 32,561 rows, which values beyond are clamped to.
"""

from __future__ import annotations

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets.fetch import RemoteFile, fetch
from dpcore_tables.schemas.shipped import shipped_text

__all__ = ["FILES", "load", "schema"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
FILES = (
    RemoteFile(
        "adult.data",
        _UCI + "adult.data",
        ("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",),
    ),
    RemoteFile(
        "adult.test",
        _UCI + "adult.test",
        ("a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",),
    ),
)


def schema() -> Schema:
    """Return the published schema: 108 features and the intercept."""
    return Schema.from_toml(shipped_text("adult"), "adult")


def load(columns: Schema | None = None) -> Dataset:
    """Return the rows of both files, by the published schema or another one of these columns.
    Raises DataError if a file cannot be had."""
    from dpcore_tables.files import assemble
    from dpcore_tables.files.stream import encode_piece
    from dpcore_tables.readers import read_bytes
    from dpcore_tables.readers.text import read_text

    train, test = (read_bytes(str(fetch(file))) for file in FILES)
    _, _, test_rows = test.partition(b"\n")  # its first line is a remark
    columns = columns or schema()
    raw = read_text(train + b"\n" + test_rows, "adult", columns)
    return Dataset.from_rows("adult", assemble([encode_piece(raw, columns)]), columns)
