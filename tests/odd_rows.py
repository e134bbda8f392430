"""Tables of every kind of column, and rows with odd cells, from every source."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd

from dpcore import Schema
from dpcore.errors import DataError
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_tables.readers import as_objects

NUMBER = {"kind": "numeric", "lower": -5, "upper": 90}
CODES = {"kind": "categorical", "categories": ["02139", "a b", "1"]}
DATE = {"kind": "date", "lower": "2000-01-01", "upper": "2030-12-31"}
LABEL = {"kind": "label", "classes": ["0", "1"]}

KINDS = {
    "number": (NUMBER, "3"),
    "number, filled": (NUMBER | {"fill": 7}, "3"),
    "number, marked": (NUMBER | {"indicator": True}, "3"),
    "number, both": (NUMBER | {"fill": 7, "indicator": True, "missing": ["none", "-9"]}, "3"),
    "logarithm": ({"kind": "numeric", "lower": 0.5, "upper": 90, "scale": "log", "fill": 3}, "3"),
    "bins": ({"kind": "numeric", "bins": [-1, 1, 2.5], "indicator": True}, "3"),
    "knots": ({"kind": "numeric", "knots": [-3, 1, 2.25, 60], "indicator": True}, "3"),
    "private bounds": ({"kind": "numeric", "lower": "private", "upper": 90, "fill": 1}, "3"),
    "codes": (CODES, "02139"),
    "codes, marked": (CODES | {"indicator": True}, "02139"),
    "codes, filled": (CODES | {"fill": "a b", "missing": ["none"]}, "02139"),
    "numbered codes": ({"kind": "categorical", "categories": [1, 2.5], "indicator": True}, "1"),
    "truth as codes": ({"kind": "categorical", "categories": ["False", "True"]}, "True"),
    "ordinal": (
        {"kind": "ordinal", "levels": ["low", "mid"], "missing": ["-9"], "fill": "mid"},
        "low",
    ),
    "numbered ordinal": ({"kind": "ordinal", "levels": [1, 2, 3], "indicator": True}, "2"),
    "boolean": ({"kind": "boolean", "indicator": True}, "yes"),
    "hashed": ({"kind": "hashed", "buckets": 8, "indicator": True}, "a b"),
    "hashed numbers": ({"kind": "hashed", "buckets": 8, "numbers": True, "fill": 1}, "3"),
    "date": (DATE | {"indicator": True, "parts": ["year", "month", "weekday"]}, "2020-02-29"),
    "date as written": (DATE | {"fill": "2020-02-29", "format": "%d.%m.%Y"}, "29.02.2020"),
}
TEXTS = [
    "", "  ", "NA", "-9", "none", "x", "1e3", "1e999", "-1e9", " 3 ", "+3", '"1,5"', "nan",
    "True", "TRUE", "off", "2020-02-30", "2031-01-01", "1960-01-01T12:00:00Z", "02139", "mid",
    '"a b"', '"a,b"', '"a""b"', 'a"b', '"a\nb"', '"a', "é", "9" * 400, "0x10", "3,4",
]  # fmt: skip
OBJECTS = [
    None, np.nan, pd.NA, pd.NaT, True, np.False_, 3, 99.5, np.inf, 10**36, -(10**400),
    np.float32(0.1), decimal.Decimal("0.10"), decimal.Decimal("sNaN"), "", "NA", "none", "x", "3",
    " 3 ", "True", b"3", b"\xff", "2020-02-30", dt.date(2020, 2, 29), dt.datetime(1960, 1, 1),
    pd.Timestamp("2020-01-01", tz="UTC"), np.datetime64("NaT", "s"), 3j, [1],
]  # fmt: skip


def schema_of(kind, label=LABEL, **keys):
    """Return the keys of a schema of one column of a kind, a label beside it."""
    return {"missing": ["", "NA"], "columns": {"x": KINDS[kind][0], "y": label}, **keys}


def good_cells(kind, n=6):
    return [KINDS[kind][1]] * n


def text_of(cells):
    """Return delimited text of the cells, as they are, and labels beside them."""
    return "\n".join(["x,y", *(f"{cell},{i % 2}" for i, cell in enumerate(cells)), ""])


def frame_of(cells):
    """Return a frame of the cells as objects, and labels beside them."""
    labels = [str(i % 2) for i in range(len(cells))]
    columns = {
        "x": pd.Series(as_objects(cells), dtype=object),
        "y": pd.Series(labels, dtype=object),
    }
    return pd.DataFrame(columns)


def is_legal(kind, cell):
    """Return whether a frame's row with the cell satisfies the schema of a kind."""
    try:
        dataset_from_arrays(
            frame_of([*good_cells(kind), cell]), schema=Schema.from_dict(schema_of(kind))
        )
    except DataError:
        return False
    return True
