"""Stores of units: the rows that are kept, the same released bits as from the file, and faults."""

import json

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore import Schema
from dpcore.data.units import UnitIds, ends_of_blocks
from dpcore.errors import BadRowError, DataError, InvalidInputError
from dpcore.plugin.parts import load_file
from dpcore_tables.store import convert, convert_partitions, open_store, write_rows
from dpcore_tables.store.format import STORE_ROWS, Description
from dpcore_tables.store.rows import RowsOfBlock
from dpcore_tables.store.unit_blocks import bounded_blocks
from dpcore_tables.store.writer import write_unit_blocks

KEYS = {
    "unit": "id",
    "rows_per_unit": 5,
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "city": {"kind": "categorical", "categories": ["a", "b", "c"]},
        "y": {"kind": "label", "classes": ["n", "p"]},
    },
}
SCHEMA = Schema.from_dict(KEYS)


def rows_of(n_units, most, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n_units), rng.integers(1, most + 1, n_units))
    rng.shuffle(ids)
    x = np.round(rng.random(ids.size), 6)
    table = {"id": [f"p{k}" for k in ids], "x": x, "city": rng.choice(list("abc"), ids.size)}
    return pd.DataFrame({**table, "y": np.where(x + rng.random(ids.size) > 1, "p", "n")})


def converted(folder, frame, schema=SCHEMA, **options):
    frame.to_csv(folder / "rows.csv", index=False)
    convert(folder / "rows.csv", folder / "rows.dpcore", schema, **options)
    return str(folder / "rows.csv"), str(folder / "rows.dpcore")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Rows in three blocks, of which no unit has more than are kept."""
    return converted(tmp_path_factory.mktemp("units"), rows_of(6500, 5))


def test_a_store_has_whole_units_in_its_blocks_in_an_order_of_their_own(stored):
    file, store = stored
    X, y, description = open_store(store)
    units = description.units
    assert (np.diff(units) >= 0).all() and np.unique(units).size == 6500
    assert ends_of_blocks(units, y.size) == np.cumsum([0, *X.block_rows()]).tolist()
    assert max(X.block_rows()) <= STORE_ROWS and len(X.block_rows()) == 3
    frame = pd.read_csv(file)
    held = np.concatenate([rows.numeric[:, 0] for rows in X.pieces()])
    of_units = {tuple(sorted(held[units == k])) for k in range(100)}
    grid = np.trunc(frame.x * 2**16) / 2**16
    assert of_units <= {tuple(sorted(part)) for _, part in grid.groupby(frame.id)}
    # The order is drawn for each conversion, and is not that of first rows.
    firsts = frame.drop_duplicates("id").x.to_numpy()
    begun = held[np.flatnonzero(np.diff(units, prepend=-1))]
    assert np.mean(np.trunc(firsts * 2**16) / 2**16 == begun) < 0.1


@pytest.mark.parametrize("algo", ["dp-gd", "dp-agd"])
def test_a_fit_of_a_store_releases_the_bits_of_its_file(stored, algo):
    file, store = stored
    options = {"algo": algo, "epsilon": 2.0, "delta": 1e-6, "seed": 3}
    a = dpcore.fit(file, schema=SCHEMA, **options)
    b = dpcore.fit(store, **options)
    assert np.array_equal(a.coef_, b.coef_) and np.array_equal(a.intercept_, b.intercept_)
    assert a.privacy["sentence"] == b.privacy["sentence"] and a.privacy["units"]
    assert np.array_equal(b.coef_, dpcore.fit(store, schema=SCHEMA, **options).coef_)


def test_held_out_units_may_lie_across_blocks(stored):
    data = load_file(stored[1], None)
    kept = np.random.default_rng(1).random(data.n_units) < 0.4
    some = data.take(kept[data.units])
    table = some.table()
    assert np.array_equal(table.units, some.units) and some.n_units == kept.sum()
    whole = data.table()
    w = np.random.default_rng(2).normal(size=data.n_features)
    margins = np.concatenate([block.margins(w) for block in whole.blocks])
    found = np.concatenate([block.margins(w) for block in table.blocks])
    assert np.array_equal(found, margins[kept[data.units]])
    with RowsOfBlock(data.X, 7, 7).lent() as none:
        assert none.shape == (0, data.n_features)


def test_more_rows_than_are_kept_are_left_out_by_fresh_coins(tmp_path):
    frame = rows_of(400, 12)
    file, store = converted(tmp_path, frame)
    counts = frame.id.value_counts()
    sizes = [np.bincount(open_store(store)[2].units)]
    assert sorted(sizes[0]) == sorted(np.minimum(counts, 5)) and counts.max() > 5
    first = {cell.tobytes() for rows in open_store(store)[0].pieces() for cell in rows.numeric}
    convert(file, store, SCHEMA)
    second = {cell.tobytes() for rows in open_store(store)[0].pieces() for cell in rows.numeric}
    assert first != second


def test_each_row_of_a_unit_is_kept_as_often(tmp_path):
    frame = pd.DataFrame({"id": ["a"] * 10, "x": np.arange(10) / 16, "city": "a", "y": "n"})
    counts = np.zeros(10)
    for _ in range(100):
        _, store = converted(tmp_path, frame)
        (rows,) = open_store(store)[0].pieces()
        counts[(rows.numeric[:, 0] * 16).astype(int)] += 1
    # 100 draws of 5 of 10: each about 50, standard deviation 5, five of them.
    assert counts.sum() == 500 and (abs(counts - 50) < 26).all()


def test_rows_without_an_id_are_units_by_themselves(tmp_path):
    frame = rows_of(30, 4)
    frame.loc[:9, "id"] = ""
    with pytest.raises(BadRowError, match=r"rows.csv, line 2, column 'id': the cell is empty"):
        converted(tmp_path, frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv"]
    alone = Schema.from_dict({**KEYS, "unit_missing": "row"})
    _, store = converted(tmp_path, frame, alone)
    n_units = frame.id[10:].nunique() + 10
    assert load_file(store, None).n_units == n_units
    _, store = converted(tmp_path, frame, SCHEMA, bad_rows="drop")
    assert load_file(store, None).n_units == n_units - 10


def test_what_a_store_of_units_is_not_for(stored, tmp_path):
    store = stored[1]
    other = Schema.from_dict({**KEYS, "rows_per_unit": 2})
    with pytest.raises(InvalidInputError, match="another number of rows of each: convert"):
        load_file(store, other)
    # Nobody loosens the guarantee beside the store.
    assert dpcore.fit(store, schema=SCHEMA.with_units(None), epsilon=1.0).privacy["units"]
    with pytest.raises(InvalidInputError, match="theorem|guarantee for one row"):
        dpcore.fit(store, algo="objpert", epsilon=1.0)
    model = dpcore.fit(store, epsilon=1.0, seed=1)
    with pytest.raises(InvalidInputError, match="in another order than"):
        model.predict(store)
    with pytest.raises(InvalidInputError, match="without --jobs"):
        convert_partitions(stored[0], tmp_path / "stores", SCHEMA)
    assert not (tmp_path / "stores").exists()


def test_no_rows_are_a_store(tmp_path):
    _, store = converted(tmp_path, rows_of(3, 2)[:0])
    data = load_file(store, None)
    assert data.n_units == 0 and data.table().n_rows == 0



@pytest.mark.parametrize("change", ["a unit in two blocks", "a mark that is none", "more rows"])
def test_marks_that_no_conversion_writes_are_refused(tmp_path, change):
    frame, ids = rows_of(8, 3), UnitIds()
    frame.to_csv(tmp_path / "rows.csv", index=False)

    def blocks():
        from dpcore_tables.files.stream import encoded_batches

        pieces = encoded_batches(tmp_path / "rows.csv", SCHEMA, ids=ids)
        for rows, y, is_first in bounded_blocks(pieces, ids, SCHEMA, str(tmp_path)):
            marks = is_first.astype(np.uint8)
            if change == "more rows":
                marks[1:] = 0
            else:
                marks[0 if "two" in change else 2] = 0 if "two" in change else 7
            yield rows, y, marks

    out = str(tmp_path / "rows.dpcore")
    write_unit_blocks(out, blocks(), SCHEMA, False, False)
    if change == "more rows":
        with pytest.raises(InvalidInputError, match="at most rows_per_unit=5"):
            load_file(out, None).table()
        return
    with pytest.raises(DataError, match="were altered"):
        open_store(out)


def test_block_sizes_that_do_not_add_up_are_refused():
    known = Description(SCHEMA, 3, False, ("a" * 64,), of_blocks=(3,))
    text = json.loads(known.tail()[:-48])
    for sizes in ([2], [3, 0], [], [3.0], [-1, 4], None, [True, 2], 3):
        with pytest.raises((ValueError, TypeError)):
            Description._from_json({**text, "block_rows": sizes})
    assert Description._from_json(text).block_rows() == [3]


def test_a_store_that_marks_no_units_gives_none(tmp_path):
    data = load_file(converted(tmp_path, rows_of(5, 2))[1], None)
    rows = [(rows, data.y) for rows in data.X.pieces()]
    write_rows(rows, tmp_path / "plain.dpcore", SCHEMA, False, False)
    with pytest.raises(InvalidInputError, match="whose ids plain.dpcore does not come with"):
        load_file(tmp_path / "plain.dpcore", None)
