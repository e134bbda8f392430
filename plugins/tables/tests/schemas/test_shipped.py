"""Schemas that come with the package: the files they describe, and the names they go by."""

import json

import numpy as np
import pytest

from dpcore import Schema, fit
from dpcore.errors import DataError, InvalidInputError
from dpcore_tables.datasets import kddcup99, kddcup99_classes
from dpcore_tables.schemas.shipped import SHIPPED, is_shipped

ROWS = 40
# Counted from 0, as in the papers' files: column 12 is an age, the last one before the label too.
IPUMS_NUMBERS = {6: 6, 8: 40, 9: 30, 10: 9, 11: 4, 12: 100, 49: 150, 51: 100}
IPUMS_CODES = (5, 7, 13, 18, 50)


def ipums_rows():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 2, (ROWS, 53))
    for column, most in IPUMS_NUMBERS.items():
        cells[:, column] = rng.integers(0, most + 1, ROWS)
    cells[:, IPUMS_CODES] += 1
    return [[*map(str, row)] for row in cells.tolist()]


def kdd_rows():
    rng = np.random.default_rng(2)
    words = {1: ["tcp", "udp"], 2: ["http", "aol"], 3: ["SF", "S0"]}
    rows = [[*map(str, row)] for row in rng.integers(0, 2, (ROWS, 42)).tolist()]
    for i, row in enumerate(rows):
        for column, values in words.items():
            row[column] = values[i % 2]
        row[41] = ("normal.", "smurf.")[i % 2]
    return rows


def buzz_rows():
    cells = np.random.default_rng(3).integers(0, 5000, (ROWS, 78)) / 2
    return [[*map(str, row)] for row in cells.tolist()]


FILES = {
    "ipums-br": ("IPUMS-BR.dat", " ", ipums_rows(), "logistic", 52),
    "ipums-us": ("ipums-us.txt", " ", ipums_rows(), "logistic", 52),
    "kddcup99": ("kddcup.data", ",", kdd_rows(), "logistic", 118),
    "kddcup99-10": ("tenth.csv", ",", kdd_rows(), "logistic", 118),
    "kddcup99-10-classes": ("classes.csv", ",", kdd_rows(), "softmax", 118),
    "buzz-twitter": ("Twitter.data", ",", buzz_rows(), "ridge", 77),
}


def write(path, separator, rows):
    path.write_text("".join(f"{separator.join(row)}\n" for row in rows))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_that_shape_is_fitted_and_predicted(tmp_path, name):
    file, separator, rows, loss, n_features = FILES[name]
    path = write(tmp_path / file, separator, rows)
    lines = {"curves": "none"}
    model = fit(path, schema=name, loss=loss, algo="dp-gd", params=lines, seed=1)
    assert model.coef.shape[-1] == n_features
    scores = model.decision_function(str(path))
    assert len(scores) == ROWS and np.isfinite(scores).all()


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_width_is_refused(tmp_path, name):
    file, separator, rows, loss, _ = FILES[name]
    path = write(tmp_path / file, separator, [row[1:] for row in rows])
    with pytest.raises(DataError, match=f"line 1: {len(rows[0]) - 1} cells, expected"):
        fit(path, schema=name, loss=loss, algo="dp-gd", seed=1)


@pytest.mark.parametrize(
    ("name", "column", "cell", "told"),
    [
        ("ipums-br", 12, "old", "'c12'"),
        ("ipums-us", 52, "2", "'label'"),
        ("kddcup99", 0, "long", "'duration'"),
        ("buzz-twitter", 14, "none", r"'AS\(NA\)_0'"),
        ("buzz-twitter", 77, "?", "'discussions'"),
    ],
)
def test_a_wrong_cell_is_told_with_file_line_and_column(tmp_path, name, column, cell, told):
    file, separator, rows, loss, _ = FILES[name]
    rows = [[*row] for row in rows]
    rows[6][column] = cell
    path = write(tmp_path / file, separator, rows)
    with pytest.raises(DataError, match=f"{file}, line 7.*{told}"):
        fit(path, schema=name, loss=loss, algo="dp-gd", seed=1)


def test_the_columns_of_ipums_are_counted_from_0():
    schema = Schema.read("ipums-br")
    bounds = [(c.lower, c.upper) for c in schema.features]
    expected = [(1, 2) if i in IPUMS_CODES else (0, IPUMS_NUMBERS.get(i, 1)) for i in range(52)]
    assert bounds == expected and schema.columns[52] is schema.label
    assert (schema.rows, Schema.read("ipums-us").rows) == (38_000, 40_000)


def test_the_whole_kdd_cup_has_the_columns_of_the_tenth():
    whole, tenth = Schema.read("kddcup99"), Schema.read("kddcup99-10")
    assert whole.columns == tenth.columns and tenth == kddcup99.schema()
    assert (whole.rows, tenth.rows) == (4_898_431, 494_021)


def test_the_classes_of_the_kdd_cup_are_named_and_every_attack_is_of_one():
    plain, tenth = Schema.read("kddcup99-10"), Schema.read("kddcup99-10-classes")
    assert tenth == kddcup99_classes.schema() and tenth.columns[:-1] == plain.columns[:-1]
    assert tenth.rows == plain.rows and Schema.read("kddcup99-classes").rows == 4_898_431
    label = tenth.label
    assert label.names == ("normal", "dos", "probe", "r2l", "u2r")
    # The description's 39 attacks, each but a class's own name with the point of the files.
    assert [len(values) for values in label.classes] == [2, 11, 7, 17, 8]
    attacks = [value for values in label.classes for value in values[1:]]
    assert len({*attacks}) == 40 and all(value.endswith(".") for value in attacks)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_schema_is_complete_and_keeps_its_round_trip(name):
    schema = Schema.read(name)
    assert schema.rows and not schema.from_data and SHIPPED[name].summary
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_shipped("adult")
    text = '[columns]\na = { kind = "numeric", lower = 0, upper = 9 }\n'
    (tmp_path / "adult").write_text(text + 'y = { kind = "label", classes = [0, 1] }\n')
    assert not is_shipped("adult") and Schema.read("adult").feature_names == ("a", "intercept")


def test_an_unknown_name_is_told_with_near_ones():
    with pytest.raises(InvalidInputError, match=r"'ipum-br'.* shipped\. Did you mean ipums-br"):
        Schema.read("ipum-br")
    for path in ("none.toml", "folder/ipums-br"):
        with pytest.raises(InvalidInputError) as caught:
            Schema.read(path)
        assert "shipped" not in str(caught.value)
