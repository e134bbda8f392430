"""Encoding against a row-by-row twin, and within the norm bound that the schema promises."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Schema
from dpcore.data.schema.columns import Label, Numeric
from dpcore.data.targets import scale_to_unit
from dpcore_tables.cells.columns import Columns
from dpcore_tables.cells.features import encode
from dpcore_tables.coded import CodedRows
from dpcore_tables.kinds import Categorical


@st.composite
def tables(draw):
    n = draw(st.integers(0, 5))
    kinds = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    columns, values = [], {}
    for i, k in enumerate(kinds):
        name = f"c{i}"
        if k == 0:
            columns.append(Numeric(name, -1.5, 2.0))
            values[name] = np.array(draw(st.lists(st.floats(-1e9, 1e9), min_size=n, max_size=n)))
        else:
            columns.append(Categorical(name, tuple("abc"[:k])))
            codes = draw(st.lists(st.integers(-1, k - 1), min_size=n, max_size=n))
            values[name] = np.array(codes, dtype=np.int32)
    columns.append(Label("y", ((0.0,), (1.0,))))
    values["y"] = np.ones(n)
    return Columns(values, n), Schema(tuple(columns), intercept=draw(st.booleans()))


def naive_row(columns, schema, i):
    row = []
    for column in schema.features:
        value = columns.values[column.name][i]
        if isinstance(column, Numeric):
            clamped = min(max(value, column.lower), column.upper)
            row.append((clamped - column.lower) / (column.upper - column.lower))
        else:
            row += [float(value == code) for code in range(len(column.categories))]
    return row + [1.0] * schema.intercept


@settings(deadline=None)
@given(tables())
def test_agrees_with_the_naive_twin(table):
    columns, schema = table
    X, y = encode(columns, schema)
    assert isinstance(X, CodedRows) == any(part.is_code for part in schema.parts)
    assert X.shape == (columns.n_rows, schema.n_features) and y.shape == (columns.n_rows,)
    naive = [naive_row(columns, schema, i) for i in range(columns.n_rows)]
    naive = [[math.trunc(x * 2**16) / 2**16 for x in row] for row in naive]
    if isinstance(X, CodedRows):
        assert X.tocsr().has_canonical_format
        X = X.toarray()
    else:
        assert X.flags.c_contiguous
    assert X.tolist() == naive
    assert (np.sqrt(np.square(X).sum(axis=1)) <= schema.raw_norm_bound).all()


@given(st.floats(-1e300, 1e300), st.floats(1e-300, 1e300), st.floats(allow_nan=False))
def test_a_unit_value_never_leaves_the_unit_interval(lower, width, value):
    upper = lower + width
    if not lower < upper:
        return
    unit = scale_to_unit(np.array([value]), lower, upper)[0]
    assert 0.0 <= unit <= 1.0
    assert unit == (0.0 if value <= lower else 1.0 if value >= upper else unit)
