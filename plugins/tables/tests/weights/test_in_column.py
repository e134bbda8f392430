"""Weights of rows in a column of a file or a frame."""

import io

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore import Schema, Weights
from dpcore.errors import BadRowError, DpcoreError, InvalidInputError
from dpcore.plugin.parts import ChargeLog, Dataset
from dpcore_tables.readers import pieces
from dpcore_tables.store import convert

RNG = np.random.default_rng(3)
N = 300
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(0, 90, N),
        "city": RNG.choice(["Bern", "Basel"], N),
        "weight": RNG.integers(0, 9, N) / 2,
        "paid": RNG.choice(["no", "yes"], N),
    }
)
COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 90},
    "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "weight": {"kind": "drop"},
    "paid": {"kind": "label", "classes": ["no", "yes"]},
}
SCHEMA = Schema.from_dict({"columns": COLUMNS})


def fitted(rows, weights="weight", schema=SCHEMA, **options):
    asked = {"sample_weight": Weights(weights, bound=2.0), "epsilon": 1.0, "seed": 1, **options}
    return dpcore.fit(rows, schema=schema, **asked)


def weights_in(rows, schema=SCHEMA):
    return Dataset.from_file(rows, schema, weight="weight").weights


@pytest.fixture
def file(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_a_column_of_a_file_weighs_as_the_numbers_beside_a_frame_do(file, monkeypatch):
    wanted = fitted(FRAME, FRAME["weight"].to_numpy())
    assert wanted.weight_bound == 2.0
    plain = dpcore.fit(FRAME, schema=SCHEMA, epsilon=1.0, seed=1)
    assert (wanted.coef != plain.coef).any()
    parquet = file.with_suffix(".parquet")
    FRAME.to_parquet(parquet)
    for rows in (file, str(parquet), FRAME):
        assert (fitted(rows).coef == wanted.coef).all()
    monkeypatch.setattr(pieces, "PIECE_BYTES", 50)
    assert weights_in(file).tolist() == FRAME["weight"].tolist()


ODD = ["-1", "", "nan", "1e999", "Ypsilanti", "-0.001", "1,5"]


@pytest.mark.parametrize("cell", ODD)
def test_a_cell_that_is_no_weight_is_refused_by_its_line_and_moves_no_other(file, cell):
    lines = file.read_text().splitlines()
    lines[7] = f'30,Bern,"{cell}",no'
    file.write_text("\n".join(lines) + "\n")
    charged, charge = [], ChargeLog.charge
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChargeLog, "charge", lambda *asked: charged.append(asked) or charge(*asked))
        with pytest.raises(BadRowError, match="rows.csv, line 8, column 'weight'") as told:
            fitted(file)
    assert charged == [] and "Ypsilanti" not in str(told.value)
    # Other rows' weights are read as they were: the cell has the column's other pieces as text.
    del lines[7]
    file.write_text("\n".join(lines) + "\n")
    assert weights_in(file).tolist() == FRAME["weight"].drop(6).tolist()


def test_weights_are_written_as_the_schemas_numbers_are(tmp_path):
    text = "age;weight;y\n1;1,5;a\n2;1.000,25;b\n"
    (tmp_path / "rows.csv").write_text(text)
    columns = {"age": COLUMNS["age"], "weight": {"kind": "drop"}}
    columns["y"] = {"kind": "label", "classes": ["a", "b"]}
    keys = {"columns": columns, "separator": ";", "decimal": ",", "thousands": "."}
    found = weights_in(tmp_path / "rows.csv", Schema.from_dict(keys))
    assert found.tolist() == [1.5, 1000.25]


def test_what_has_no_such_column_is_refused_in_a_line(file, tmp_path, monkeypatch):
    convert(file, tmp_path / "rows.dpcore", SCHEMA)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    units = Schema.from_dict({"columns": {**COLUMNS, "age": {"kind": "drop"}}})
    units = units.with_units("age", 2)
    beside = FRAME[["age"]].to_numpy(float)
    for ask, message in (
        (lambda: fitted(file, "wieght"), r"no column 'wieght' of weights.*Did you mean weight"),
        (lambda: fitted(file, "paid"), "no column 'paid' of weights"),
        (lambda: fitted(tmp_path / "rows.dpcore", schema=None), "no weights 'weight' of its rows"),
        (lambda: fitted(file, np.ones(N)), r"of a file name the column"),
        (lambda: fitted(FRAME, np.ones(N), schema=units), "have their weights in a column"),
        (lambda: dpcore.fit(beside, FRAME["paid"].to_numpy(), classes=("no", "yes"),
            sample_weight=Weights("weight", bound=2.0), bounds=(0, 90), row_norm=None, epsilon=1.0),
         "need named columns: a file"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=message):
            ask()
    lines = [line.rsplit(",", 2)[0] + ",no" for line in file.read_text().splitlines()]
    file.write_text("\n".join(["age,city,paid", *lines[1:]]))
    with pytest.raises(DpcoreError, match="no column 'weight'"):  # It vanished.
        fitted(file)
