"""No error about rows in memory carries a cell, or a library's error that may quote one."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from canaries import NUMBER, ODD_CELLS, WORD, leaks_of, raised_by
from scipy.sparse import coo_matrix, csr_matrix

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, DpcoreError
from dpcore_sklearn import PrivateLogisticRegression, PrivateRidge, PublicEncoder, PublicScaler
from dpcore_tables.schemas.template import schema_template
from dpcore_tables.statistics import open_session

COLUMNS = """
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
day = { kind = "date", lower = 2000-01-01, upper = 2030-01-01 }
y = { kind = "label", classes = ["no", "yes"] }
"""
NAMED = Schema.from_toml(COLUMNS + 'id = { kind = "drop" }')
UNITS = Schema.from_toml('unit = "id"\nrows_per_unit = 2\n' + COLUMNS)
TABLE = {
    "age": [41.0, 42.0],
    "city": ["Bern", "Basel"],
    "day": ["2020-01-01", "2020-01-02"],
    "y": ["no", "yes"],
    "id": [7, 8],
}
BUDGET = {"epsilon": 1.0, "seed": 1}
SHORT = {**BUDGET, "algo": "dp-gd", "params": {"steps": 2}}  # Errors come before its steps.
PUBLIC = {"bounds": (0, 1), "classes": (0, 1)}


def fitted(**others):
    return lambda X, y=None: dpcore.fit(X, y, **SHORT, **others)


def opened(**others):
    return lambda X, y=None: open_session(X, y, **BUDGET, **others)


def frames_with(column, cells):
    """Yield frames of every kind with these cells in a column, as far as one can be made."""
    table = TABLE | {column: cells}
    makers = {
        "pandas": lambda: pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in table.items()}),
        "typed pandas": lambda: pd.DataFrame(table),
        "polars": lambda: pl.DataFrame(table, strict=False),
        "polars objects": lambda: pl.DataFrame(
            {k: pl.Series(k, v, dtype=pl.Object if k == column else None) for k, v in table.items()}
        ),
        "pyarrow": lambda: pa.table(table),
    }
    for name, make in makers.items():
        try:
            yield name, make()
        except Exception:  # The library makes no such frame: the user's own traceback.
            continue


OF_FRAMES = {
    "fit": fitted(schema=NAMED),
    "fit of units": fitted(schema=UNITS),
    "fit with private bounds": fitted(schema=NAMED, private_bounds=True),
    "open_session": opened(schema=NAMED),
    "schema_template": lambda X: schema_template(X, "y"),
    "predict": lambda X: MODEL.predict(X),
    "predict, refused": lambda X: MODEL.predict(X, bad_rows="refuse"),
    "score": lambda X: MODEL.score(X, X["y"]),
    "estimator": lambda X: PrivateLogisticRegression(schema=NAMED).fit(X),
    "labelled estimator": lambda X: PrivateLogisticRegression(
        bounds={"age": (0, 1)}, categories={"city": ["Bern"]}
    ).fit(X[["age", "city"]], X["y"]),
}
ODD = ODD_CELLS | {
    "date": dt.datetime(9999, 12, 31, 23, 59, 59, 471147),
    "time": dt.time(4, 7, 11),
    "complex": complex(NUMBER, 1),
}
CLEAN = DpcoreError, TypeError
MODEL = None


@pytest.fixture(scope="module", autouse=True)
def model():
    global MODEL
    MODEL = dpcore.fit(pd.DataFrame(TABLE), schema=NAMED, **BUDGET)


def leaking(ways, *rows):
    """Return by way what leaks, or that an error is none of ours, and how many errors there
    were."""
    found, count = {}, 0
    for name, act in ways.items():
        error = raised_by(lambda act=act: act(*rows))
        if error is None:
            continue
        count += 1
        told = leaks_of(error)
        if told or not isinstance(error, CLEAN):
            found[name] = [*told, repr(error)]
    return found, count


@pytest.mark.some_fast
@pytest.mark.filterwarnings("ignore")  # Of pandas and polars, on what they are given.
@pytest.mark.parametrize("column", TABLE)
@pytest.mark.parametrize("kind", ODD)
def test_no_error_about_a_frame_carries_a_cell(kind, column):
    found, count = {}, 0
    for name, frame in frames_with(column, [ODD[kind], TABLE[column][1]]):
        leaks, errors = leaking(OF_FRAMES, frame)
        found |= {(name, way): told for way, told in leaks.items()}
        count += errors
    assert found == {}
    assert count


OF_ARRAYS = {
    "fit": fitted(**PUBLIC),
    "fit of rows": fitted(classes=(0, 1), row_norm=1.0),
    "fit with private bounds": fitted(classes=(0, 1), private_bounds=True),
    "fit of numbers": fitted(bounds=(0, 1), target_bounds=(0, 1)),
    "open_session": opened(**PUBLIC),
    "classifier": lambda X, y: PrivateLogisticRegression(bounds=(0, 1)).fit(X, y),
    "ridge": lambda X, y: PrivateRidge(bounds=(0, 1), target_bounds=(0, 1)).fit(X, y),
    "scaler": lambda X, y: PublicScaler(bounds=(0, 1)).fit_transform(X),
    "encoder": lambda X, y: PublicEncoder(categories=[["a"], ["b"]]).fit_transform(X),
    "score": lambda X, y: ON_ARRAYS.score(X, y),
    "predict": lambda X, y: ON_ARRAYS.predict(X),
}
X, Y = np.ones((2, 2)), np.array([0, 1])
ON_ARRAYS = PrivateLogisticRegression(bounds=(0, 1), classes=(0, 1), epsilon=1.0).fit(X, Y).model_


def column_of(cell, n=2):
    cells = np.empty(n, dtype=object)
    cells[:] = [cell, *[1] * (n - 1)]
    return cells


def misfit():
    """A sparse matrix whose parts do not fit together."""
    rows = csr_matrix(X)
    rows.indices[0] = 2_000_000_000
    return rows


ARRAYS: dict[str, tuple] = {
    kind: (np.column_stack([column_of(cell), [1, 1]]), Y) for kind, cell in ODD.items()
}
ARRAYS |= {f"{kind} in a list": ([[cell, 1], [1, 1]], [0, 1]) for kind, cell in ODD.items()}
ARRAYS |= {f"{kind} as a label": (X, column_of(cell)) for kind, cell in ODD.items()}
ARRAYS |= {f"{kind} as a listed label": (X, [cell, 1]) for kind, cell in ODD.items()}
ARRAYS |= {
    "words": (np.array([[WORD, "1"], ["1", "2"]]), Y),
    "rows of several lengths": ([[NUMBER], [1, WORD]], Y),
    "a cube": (np.full((2, 2, 2), float(NUMBER)), Y),
    "labels in columns": (X, np.full((2, 2), NUMBER)),
    "labels of Arrow": (X, pa.array([WORD, "1"])),
    "labels of polars": (X, pl.Series([WORD, "1"])),
    "lists as labels of Arrow": (X, pa.array([[WORD], ["1"]])),
    "sparse": (misfit(), Y),
    "sparse words": (coo_matrix(([NUMBER, 1], ([0, 1], [0, 1]))), [WORD, 1]),
    "sparse of infinities": (csr_matrix([[np.inf, 1], [NUMBER, 1.0]]), Y),
}


@pytest.mark.some_fast
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ARRAYS)
def test_no_error_about_an_array_carries_a_cell(kind):
    found, count = leaking(OF_ARRAYS, *ARRAYS[kind])
    assert found == {}
    assert count or kind.partition(" ")[0] in ("number", "decimal")  # Which are clamped.


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ODD)
def test_no_error_about_weights_carries_one(kind):
    ways = {
        "fit": fitted(**PUBLIC, sample_weight=[ODD[kind], 1], weight_bound=2.0),
        "fit, an array": fitted(**PUBLIC, sample_weight=column_of(ODD[kind]), weight_bound=2.0),
        "estimator": lambda X, y: PrivateLogisticRegression(**PUBLIC, weight_bound=2.0).fit(
            X, y, sample_weight=column_of(ODD[kind])
        ),
        "score": lambda X, y: ON_ARRAYS.score(X, y, column_of(ODD[kind])),
    }
    found, _ = leaking(ways, X, Y)
    assert found == {}


def test_a_library_s_own_refusal_of_a_weight_would_be_found():
    """The broken twin: as the reader of weights was."""

    def read(weights):
        try:
            np.array(weights, dtype=np.float64)
        except ValueError:
            raise DataError("Expected sample_weight to be numbers, one for each row.") from None

    assert leaks_of(raised_by(lambda: read([WORD, 1]))) == [WORD, "ValueError"]
