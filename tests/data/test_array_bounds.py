"""Public bounds for the columns of an array, and what a row norm does to unscaled features."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpcore import Schema, fit, load_model
from dpcore.data.arrays import dataset_from_arrays, features_from_arrays
from dpcore.data.schema.features.numeric import Numeric
from dpcore.data.schema.features.scaling import describe_scaling
from dpcore.data.schema.features.width import width_schema
from dpcore.data.schema.label import Label
from dpcore.data.targets import scale_to_unit
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import Problem

LOWER, UPPER = [-50.0, 0.0, 1.0], [50.0, 1e6, 1.5]
RNG = np.random.default_rng(5)
X = np.column_stack([RNG.normal(0, 30, 200), RNG.uniform(0, 2e6, 200), RNG.normal(1.2, 1, 200)])
Y = np.where(X[:, 0] > 0, "yes", "no")
WORDS = {"classes": ("no", "yes"), "epsilon": 1.0, "seed": 7}


def named(row_norm=None, label=None):
    columns = {
        f"x{j + 1}": {"kind": "numeric", "lower": LOWER[j], "upper": UPPER[j]} for j in range(3)
    }
    label = label or {"kind": "label", "classes": ["no", "yes"]}
    data = {} if row_norm is None else {"row_norm": row_norm}
    return Schema.from_dict({**data, "columns": {**columns, "label": label}})


@pytest.mark.parametrize("row_norm", [None, 1.0, 0.5])
def test_bounds_of_an_array_are_a_schemas_to_the_bit(row_norm):
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3"])
    by_schema = fit(frame, Y, schema=named(row_norm), epsilon=1.0, seed=7)
    by_bounds = fit(X, Y, bounds=(LOWER, np.array(UPPER)), row_norm=row_norm, **WORDS)
    assert by_bounds.w.tobytes() == by_schema.w.tobytes()
    assert by_bounds.schema.columns == by_schema.schema.columns
    scores = by_bounds.decision_function(X)
    assert scores.tobytes() == by_schema.decision_function(frame).tobytes()
    assert by_schema.decision_function(X).tobytes() == scores.tobytes()
    assert by_bounds.report["scaling"] == by_schema.report["scaling"]


def test_a_scalar_bounds_all_columns_and_a_model_file_keeps_them(tmp_path):
    model = fit(X, Y, bounds=(0, np.full(3, 2)), row_norm=None, **WORDS)
    assert {(c.lower, c.upper) for c in model.schema.features} == {(0.0, 2.0)}
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert dataset_from_arrays(X[:0], [], bounds=(0, 1)).X.shape == (0, 4)


def test_features_that_nobody_scaled_are_told_apart_once_they_have_bounds():
    # Two columns of many units whose difference is what counts: rows of norm 1 lose it.
    x = RNG.uniform(400, 500, (2000, 2))
    y = np.where(x[:, 0] > x[:, 1], 1, -1)
    scaled, raw = (fit(x, y, epsilon=1.0, seed=1, **b) for b in ({"bounds": (400, 500)}, {}))
    assert (scaled.predict(x) == y).mean() > 0.9
    assert "without bounds. Rows longer than row_norm=1.0 (the" in raw.report["scaling"]


REFUSED = [
    ({"row_norm": None}, InvalidInputError, r"without bounds=\(lower, upper\)"),
    ({"bounds": (0, [1, 2])}, InvalidInputError, "one for each of 3 columns"),
    ({"bounds": 3}, InvalidInputError, "one for each of 3 columns"),
    ({"bounds": (0, "a")}, InvalidInputError, "one for each of 3 columns"),
    ({"bounds": (0, [1, 0, 1])}, InvalidInputError, "lower=0.0 < upper=0.0 in column 'x2'"),
    ({"bounds": (0, np.inf)}, InvalidInputError, "too far apart"),
    ({"bounds": (0, 1), "loss": "ridge"}, InvalidInputError, r"needs target_bounds=\(lower"),
    ({"target_bounds": (0, 1), "loss": "ridge"}, InvalidInputError, "not both"),
    ({"schema": named(), "classes": None, "bounds": (0, 1)}, InvalidInputError, "bounds to be"),
    ({"schema": named(), "classes": None, "row_norm": 2}, InvalidInputError, "row_norm to be left"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "error", "text"), REFUSED)
def test_what_cannot_be_meant_is_refused(words, error, text):
    with pytest.raises(error, match=text):
        fit(X, Y, **{**WORDS, **words})


def test_bounds_are_never_taken_for_the_targets():
    # They were, before columns had bounds: (a, b) with the loss ridge meant the target.
    y = X[:, 0]
    model = fit(X, y, loss="ridge", target_bounds=(-50, 50), bounds=(LOWER, UPPER), seed=1)
    assert model.schema == named(1.0, {"kind": "label", "lower": -50, "upper": 50})
    with pytest.raises(InvalidInputError, match="bounds are those of the feature columns"):
        fit(X, y, loss="ridge", bounds=(-50, 50))


def test_rows_that_cannot_be_mapped_to_bounds():
    with pytest.raises(InvalidInputError, match=r"zeros would not stay zeros. Pass X.toarray\(\)"):
        fit(sparse.csr_matrix(X), Y, bounds=(0, 1), **WORDS)
    data = dataset_from_arrays(X, Y, classes=("no", "yes"), bounds=(0, 1))
    with pytest.raises(DataError, match="2 feature columns, expected 3"):
        features_from_arrays(X[:, :2], data.schema)
    for y, text in (
        (Y[:5], "number of labels"),
        (np.where(Y == "no", "no", "?"), "column 'label'"),
    ):
        with pytest.raises(DataError, match=text):
            dataset_from_arrays(X, y, classes=("no", "yes"), bounds=(0, 1))
    with pytest.raises(InvalidInputError, match="Expected y"):
        dataset_from_arrays(X, bounds=(0, 1))
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(DataError, match="row 4, column 'x2': the cell is empty; fill it in"):
        dataset_from_arrays(bad, Y, classes=("no", "yes"), bounds=(0, 1))


@pytest.mark.parametrize("row_norm", [2.0**14, 1e5, 2.0**200])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_large_row_norm_is_one_after_a_division_by_a_power_of_two(row_norm, form):
    x = X / 3e6 * row_norm
    x[:2] *= 100  # scaled down
    data = dataset_from_arrays(form(x), Y, classes=("no", "yes"), row_norm=row_norm)
    scale = data.schema.feature_scale
    assert np.log2(scale) % 1 == 0 and 2.0**7 < data.row_norm == row_norm * scale <= 2.0**8
    stored = data.X.toarray() if form is sparse.csr_matrix else data.X
    on_grid = np.trunc(x[2:] * scale * 2**Problem.FEATURE_BITS) / 2**Problem.FEATURE_BITS
    assert np.array_equal(stored[2:], np.column_stack([on_grid, np.ones(198)]))
    assert np.linalg.norm(stored.astype(np.float64), axis=1).max() <= data.row_norm
    assert (data.table().row_norm, data.table().raw_norm_bound) == (data.row_norm,) * 2


@pytest.mark.parametrize("least", [2**53 + 1, Fraction(2**53 + 1), np.longdouble(2**53) + 1])
def test_bounds_that_float64_rounds_hold_rows_within_them(least):
    schema = Schema((Numeric("x", least, least + 2), Label("y", lower=least, upper=least + 2)))
    cells = np.array([0.0, 2.0**53, 2.0**53 + 2, 2.0**53 + 4, 2.0**60])
    data = dataset_from_arrays(cells[:, np.newaxis], cells, schema=schema)
    assert data.X[:, 0].tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert data.y.tolist() == [-1.0, -1.0, 0.0, 1.0, 1.0]
    assert scale_to_unit(cells.astype(np.float32), 1e8 + 3, 1e8 + 5).tolist() == [0.0, 1, 1, 1, 1]
    with pytest.raises(InvalidInputError, match="Expected lower="):
        Numeric("x", 2**53, 2**53 + 1)  # One number of float64.


@pytest.mark.parametrize(("row_norm", "scale"), [(256.0, 1), (256.1, 0.5), (2.0**512, 2.0**-504)])
def test_a_row_norm_is_divided_only_above_its_limit(row_norm, scale):
    assert width_schema(3, row_norm=row_norm).feature_scale == scale
    with pytest.raises(InvalidInputError, match=re.escape("<= 2^512")):
        width_schema(3, row_norm=row_norm * 2.0**512)


def test_a_model_of_a_large_row_norm_is_one_of_the_features_as_given(tmp_path):
    x = X * [100, 1e-3, 100]
    model = fit(x, Y, row_norm=20_000, **{**WORDS, "epsilon": 5.0})
    assert (model.predict(x) == Y).mean() > 0.9
    within = np.linalg.norm(np.column_stack([x, np.ones(200)]), axis=1) < 20_000
    margins = x @ model.coef + model.intercept
    # The features are truncated to a grid of 2^-16 after they were divided by 2^7.
    off = np.abs(model.coef).sum() * 2.0**-9
    np.testing.assert_allclose(model.decision_function(x)[within], margins[within], atol=off)
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert (again.w.tobytes(), again.row_norm) == (model.w.tobytes(), 20_000.0)
    assert model.report["scaling"].startswith("Features and row_norm=20000.0 are divided by 2^7.")


def test_the_line_on_scaling_knows_public_facts_only():
    assert describe_scaling(named()).endswith("norm above sqrt(4), so none is scaled down.")
    assert "Rows longer than row_norm=0.5 (the intercept's 1" in describe_scaling(named(0.5))
    text = describe_scaling(width_schema(3, row_norm=2, intercept=False))
    assert text.endswith(
        "row_norm=2.0, which is public, are scaled down to it; how many is private."
    )
