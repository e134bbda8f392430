"""Weights that are read with their rows: of files, stores, queries and frames, and of units."""

import json
import sqlite3
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
from golden.command import dpcore as command

import dpcore
from dpcore import Schema, Weights
from dpcore.errors import BadRowError, DataError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, Settings
from dpcore.plugin.parts import Dataset, LocalEngine
from dpcore_tables.databases.address import with_query
from dpcore_tables.files.stream import encoded_batches
from dpcore_tables.store import convert, open_store, write_rows
from dpcore_tables.weights.sample_weighted import SampleWeighted

RNG = np.random.default_rng(8)
N = 240
FRAME = pd.DataFrame({"id": RNG.permutation(np.arange(N) // 4), "x": RNG.integers(0, 64, N) / 64})
FRAME["w"] = 3 * FRAME.x  # So a row's weight can be told from its feature, wherever it is put.
FRAME["paid"] = RNG.choice(["no", "yes"], N)
COLUMNS = {
    "id": {"kind": "drop"},
    "x": {"kind": "numeric", "lower": 0, "upper": 1},
    "w": {"kind": "drop"},
    "paid": {"kind": "label", "classes": ["no", "yes"]},
}
SCHEMA = Schema.from_dict({"columns": COLUMNS})
UNITS = SCHEMA.with_units("id", 3)
TOML = {
    "x": '{ kind = "numeric", lower = 0, upper = 1 }',
    "paid": '{ kind = "label", classes = ["no", "yes"] }',
}
ADD, CLIP = NeighboringRelation.ADD_OR_REMOVE_ONE, 0.05
QUERY = "select id, x, w, paid from people"


def csv(path, frame, schema):
    frame.to_csv(path / "rows.csv", index=False)
    return str(path / "rows.csv")


def parquet(path, frame, schema):
    frame.to_parquet(path / "rows.parquet")
    return str(path / "rows.parquet")


def excel(path, frame, schema):
    frame.to_excel(path / "rows.xlsx", index=False)
    return str(path / "rows.xlsx")


def sqlite(path, frame, schema):
    with sqlite3.connect(path / "rows.db") as connection:
        frame.to_sql("people", connection, index=False, if_exists="replace")
    connection.close()
    return with_query(f"sqlite:///{path / 'rows.db'}", QUERY, False)


def duck(path, frame, schema):
    with duckdb.connect(str(path / "rows.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM frame")
    return with_query(f"duckdb:///{path / 'rows.duckdb'}", QUERY, False)


def store(path, frame, schema):
    convert(csv(path, frame, schema), path / "rows.dpcore", schema, weight="w")
    return str(path / "rows.dpcore")


FILES = [csv, parquet, excel, sqlite, duck, store]
named = {"ids": lambda value: getattr(value, "__name__", None)}


def read(source, schema=SCHEMA):
    return Dataset.from_file(source, schema, weight="w")


def cells_of(rows):
    """Return the feature of each row, from memory or from a store."""
    if isinstance(rows.X, np.ndarray):
        return rows.X[:, 0]
    return np.concatenate([piece.numeric[:, 0] for piece in rows.X.pieces()])


@pytest.mark.parametrize("write", FILES, **named)
def test_each_row_has_the_weight_of_its_own_cell(tmp_path, write):
    rows = read(write(tmp_path, FRAME, SCHEMA))
    assert rows.weights.tolist() == FRAME.w.tolist() == (3 * cells_of(rows)).tolist()
    assert rows.y.dtype == np.float64 and not rows.weights.flags.writeable
    assert Dataset.from_file(write(tmp_path, FRAME, SCHEMA), SCHEMA).weights is None


@pytest.mark.parametrize("write", FILES, **named)
def test_rows_of_units_are_put_in_order_with_their_weights(tmp_path, write):
    rows = read(write(tmp_path, FRAME, UNITS), UNITS)
    assert rows.y.size == np.minimum(FRAME.id.value_counts(), 3).sum() < N
    assert rows.weights.tolist() == (3 * cells_of(rows)).tolist() != FRAME.w.tolist()
    (block,) = rows.table().blocks
    assert block.y["weight"].tolist() == rows.weights.tolist()


@pytest.mark.parametrize("schema", [SCHEMA, UNITS], ids=["rows", "units"])
def test_every_source_is_fitted_alike(tmp_path, schema):
    asked = {"sample_weight": Weights("w", bound=2.0), "epsilon": 1.0, "seed": 1}
    wanted = dpcore.fit(FRAME, schema=schema, **asked)
    assert wanted.weight_bound == 2.0
    plain = dpcore.fit(FRAME, schema=schema, epsilon=1.0, seed=1)
    assert (plain.coef != wanted.coef).any()
    assert wanted.privacy.get("units") == plain.privacy.get("units")
    for write in (csv, sqlite, duck):
        found = dpcore.fit(write(tmp_path, FRAME, schema), schema=schema, **asked)
        assert (found.w == wanted.w).all()
    if schema is SCHEMA:
        found = dpcore.fit(store(tmp_path, FRAME, schema), **asked)
        assert (found.w == wanted.w).all()


ODD = ["-1", "", "nan", "1e999", "Ypsilanti", "-0.001"]


@pytest.mark.parametrize("write", [csv, sqlite, store], **named)
@pytest.mark.parametrize("cell", ODD)
def test_an_odd_weight_is_refused_and_moves_no_other(tmp_path, write, cell):
    odd = FRAME.astype({"w": object})
    odd.loc[7, "w"] = cell
    with pytest.raises(BadRowError, match=r"column 'w': expected a weight") as told:
        read(write(tmp_path, odd, SCHEMA))
    assert "Ypsilanti" not in str(told.value)
    left = [path.name for path in tmp_path.iterdir()]
    assert left == (["rows.db"] if write is sqlite else ["rows.csv"])
    if write is csv:
        dropped = Dataset.from_file(csv(tmp_path, odd, SCHEMA), SCHEMA, weight="w", bad_rows="drop")
        assert dropped.weights.tolist() == FRAME.w.drop(7).tolist() and dropped.y.size == N - 1


def test_what_is_no_column_of_weights_is_refused(tmp_path):
    file, city = csv(tmp_path, FRAME, SCHEMA), {"kind": "categorical", "categories": ["1"]}
    listed = Schema.from_dict({"columns": {**COLUMNS, "w": city}})
    stored = store(tmp_path, FRAME, SCHEMA)
    for source, schema, weight, told in (
        (file, listed, "w", 'is of kind "categorical"'),
        (file, UNITS, "id", "is the unit"),
        (file, SCHEMA, "paid", "no column 'paid' of weights"),
        (file, SCHEMA, "v", "no column 'v' of weights"),
        (stored, None, "x", "no weights 'x' of its rows"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            Dataset.from_file(source, schema, weight=weight)
    as_number = {"kind": "numeric", "lower": 0, "upper": 1}
    number = Schema.from_dict({"columns": {**COLUMNS, "w": as_number}})
    assert read(file, number).weights.tolist() == FRAME.w.tolist()
    with pytest.raises(DataError, match="no column 'w'"):
        read(csv(tmp_path, FRAME.drop(columns="w"), SCHEMA))


def test_a_store_keeps_weights_that_only_who_asks_gets_and_nobody_alters(tmp_path):
    path = store(tmp_path, FRAME, SCHEMA)
    _, y, known = open_store(path)
    assert y.dtype == np.float64
    assert known.weight == "w" and known.weights.tolist() == FRAME.w.tolist()
    assert Dataset.from_file(path, None).weights is None
    content = bytearray((tmp_path / "rows.dpcore").read_bytes())
    content[4096 + 8 * N + 7] ^= 0x80  # the sign of the first weight, behind the labels
    (tmp_path / "rows.dpcore").write_bytes(content)
    with pytest.raises(DataError, match="the rows from 1 to 240 were altered"):
        read(path, None)
    # Whoever has written it with its checksums right has no more than a weight to say.
    pieces = [*encoded_batches(tmp_path / "rows.csv", SCHEMA, weight="w")]
    pieces[0][1]["weight"][0] = -1.0
    write_rows(pieces, path, SCHEMA, False, False, weight="w")
    with pytest.raises(DataError, match="were altered"):
        read(path, None)


def answer_of(table, query):
    return np.ldexp(LocalEngine(table).answer(query), -Problem.FEATURE_BITS - query.bits)


def moves_of_units(rows, weigh):
    """Return how far each unit moves the sum of clipped gradients, and the stated bound."""
    known = rows.table()
    problem = Problem(
        loss=SampleWeighted(Settings(loss="logistic").make_loss(), 4.0),
        l2=0.0,
        n_features=known.n_features,
        row_norm=known.row_norm,
        raw_norm_bound=known.raw_norm_bound,
        relation=ADD,
    )
    query = ClippedGradientSum(problem, np.zeros(known.n_features), CLIP)

    def total(mask):
        some = rows.take(mask)
        if weigh is None:
            return answer_of(some.table(), query)
        each = [rows.take(np.arange(rows.y.size) == k) for k in np.flatnonzero(mask)]
        return sum(weigh(one, query) for one in each)

    found = [total(rows.units == unit) for unit in range(rows.n_units)]
    # By the theorem of dpcore.session.unit_sensitivity, k times the bound of a row.
    return np.linalg.norm(found, axis=1), 3 * query.sensitivity(ADD).bound


def weighed_after_the_clip(one, query):
    """A broken twin: the weight multiplies what a row was clipped to."""
    plain = replace(one, weights=np.ones(1)).table()
    return one.weights[0] * answer_of(plain, query)


def test_all_rows_of_a_unit_together_move_a_sum_by_their_number_times_the_clip(tmp_path):
    frame = FRAME.assign(paid="yes", x=np.maximum(FRAME.x, 0.5)).head(60)
    rows = read(sqlite(tmp_path, frame.assign(w=3 * frame.x), UNITS), UNITS)
    moved, bound = moves_of_units(rows, None)
    assert bound >= 3 * CLIP and 0.95 * 3 * CLIP < moved.max() <= bound
    broken, _ = moves_of_units(rows, weighed_after_the_clip)
    assert broken.max() > bound


def test_another_weight_of_a_row_changes_what_that_row_adds_alone(tmp_path):
    other = FRAME.assign(w=np.where(FRAME.index == 5, 0.25, FRAME.w))
    for write in FILES:
        one, two = (read(write(tmp_path, frame, SCHEMA)) for frame in (FRAME, other))
        changed = np.flatnonzero(one.weights != two.weights)
        assert changed.tolist() == [5] and (one.y == two.y).all()
        assert (cells_of(one) == cells_of(two)).all()


def test_the_command_line_keeps_weights_and_units_in_a_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv(tmp_path, FRAME, SCHEMA)
    columns = (f"{k} = {v}" for k, v in TOML.items())
    (tmp_path / "s.toml").write_text("\n".join(["[columns]", *columns]))
    convert_it = "dpcore convert rows.csv rows.dpcore --schema s.toml"
    said = command(f"{convert_it} --unit id --rows-per-unit 3 --weight w")
    assert said.status == 0, said.err
    train = "dpcore train --data rows.dpcore --epsilon 1 --seed 1 --weight w --weight-bound 2"
    said = command(f"{train} --out m.json --quiet")
    assert said.status == 0, said.err
    told = json.loads((tmp_path / "m.json").read_text())
    assert told["weight_bound"] == 2.0 and told["privacy"]["units"]["column"] == "id"
    for options, why in (
        ("--weight v", "no column 'v'"),
        ("--unit id", "rows_per_unit"),
        ("--jobs 2 --weight w", "--weight without --jobs"),
    ):
        said = command(f"dpcore convert rows.csv other --schema s.toml {options}".replace(
            "other", "other" if "jobs" in options else "other.dpcore"))  # fmt: skip
        assert said.status == 2 and why in said.err, said.err
        assert not [*tmp_path.glob("*other*")]
    said = command("dpcore train --data rows.dpcore --weight x --weight-bound 2")
    assert said.status == 2 and "no weights 'x' of its rows: convert" in said.err
