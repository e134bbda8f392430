"""Stores of units: the rows that are kept, the same released bits as from the file, and faults."""

import errno
import json
import os
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore import Schema
from dpcore.errors import BadRowError, DataError, InvalidInputError
from dpcore.plugin.commands import DataRequest
from dpcore.plugin.parts import Dataset
from dpcore_tables.statistics import open_session
from dpcore_tables.store import (
    conversion,
    convert,
    convert_partitions,
    open_store,
    unit_blocks,
    write_rows,
)
from dpcore_tables.store.format import PAGE, STORE_ROWS, Description
from dpcore_tables.store.unit_blocks import bounded_blocks

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


def rows_in(store):
    """Return the rows of a store in their order, each with its label."""
    X, y, _ = open_store(store)
    pieces = [np.c_[rows.numeric, rows.codes] for rows in X.pieces()]
    return [*map(tuple, np.c_[np.concatenate(pieces), y].tolist())]


def with_coins(monkeypatch):
    """Have conversions draw the same coins for the n-th row, and the n-th unit, of every table."""

    def blocks(*asked):
        draws = iter(range(9))
        coins = lambda size: np.random.default_rng(next(draws)).bytes(size)  # noqa: E731
        return bounded_blocks(*asked, coins=coins)

    monkeypatch.setattr(conversion, "bounded_blocks", blocks)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Rows in three blocks, of which no unit has more than are kept."""
    return converted(tmp_path_factory.mktemp("units"), rows_of(6500, 5))


def test_a_store_has_whole_units_in_its_blocks_in_an_order_of_their_own(stored):
    file, store = stored
    X, y, description = open_store(store)
    units = description.units
    assert (np.diff(units) >= 0).all() and np.unique(units).size == 6500
    of_table = [block.n_rows for block in Dataset.from_file(store, None).table().blocks]
    assert X.block_rows() == of_table and sum(of_table) == y.size
    assert max(of_table) <= STORE_ROWS and len(of_table) == 3
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
    data = Dataset.from_file(stored[1], None)
    kept = np.random.default_rng(1).random(data.n_units) < 0.8
    some = data.take(kept[data.units])
    table = some.table()
    assert np.array_equal(table.units, some.units) and some.n_units == kept.sum()
    whole = data.table()
    w = np.random.default_rng(2).normal(size=data.n_features)
    margins = np.concatenate([block.margins(w) for block in whole.blocks])
    found = np.concatenate([block.margins(w) for block in table.blocks])
    assert np.array_equal(found, margins[kept[data.units]])


def test_more_rows_than_are_kept_are_left_out_by_fresh_coins(tmp_path):
    frame = rows_of(400, 12)
    file, store = converted(tmp_path, frame)
    counts = frame.id.value_counts()
    sizes = np.bincount(open_store(store)[2].units)
    assert sorted(sizes) == sorted(np.minimum(counts, 5)) and counts.max() > 5
    first = rows_in(store)
    convert(file, store, SCHEMA)
    assert {*first} != {*rows_in(store)} and bounded_blocks.__defaults__ == (None, os.urandom)


def test_rows_without_an_id_are_units_by_themselves(tmp_path):
    frame = rows_of(30, 4)
    frame.loc[:9, "id"] = ""
    with pytest.raises(BadRowError, match=r"rows.csv, line 2, column 'id': the cell is empty"):
        converted(tmp_path, frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv"]
    alone = Schema.from_dict({**KEYS, "unit_missing": "row"})
    _, store = converted(tmp_path, frame, alone)
    n_units = frame.id[10:].nunique() + 10
    assert Dataset.from_file(store, None).n_units == n_units
    _, store = converted(tmp_path, frame, SCHEMA, bad_rows="drop")
    assert Dataset.from_file(store, None).n_units == n_units - 10


def test_what_a_store_of_units_is_not_for(stored, tmp_path):
    store = stored[1]
    other = Schema.from_dict({**KEYS, "rows_per_unit": 2})
    with pytest.raises(InvalidInputError, match="another number of rows of each: convert"):
        Dataset.from_file(store, other)
    # Nobody loosens the guarantee beside the store.
    assert dpcore.fit(store, schema=SCHEMA.with_units(None), epsilon=1.0).privacy["units"]
    with pytest.raises(InvalidInputError, match="theorem|guarantee for one row"):
        dpcore.fit(store, algo="objpert", epsilon=1.0)
    model = dpcore.fit(store, epsilon=1.0, seed=1)
    with pytest.raises(InvalidInputError, match="in another order than"):
        model.predict(store)
    convert(stored[0], tmp_path / "rows.dpcore", SCHEMA.with_units(None))
    assert np.array_equal(model.predict(tmp_path / "rows.dpcore"), model.predict(stored[0]))
    with pytest.raises(InvalidInputError, match="without --jobs"):
        convert_partitions(stored[0], tmp_path / "stores", SCHEMA)
    assert not (tmp_path / "stores").exists()


def test_no_rows_are_a_store(tmp_path):
    _, store = converted(tmp_path, rows_of(3, 2)[:0])
    data = Dataset.from_file(store, None)
    assert data.n_units == 0 and data.table().n_rows == 0


def bounded_by_stretches(y, ids, schema, coins):
    """Keep k rows of a unit of every 16 rows: the wrong twin, of a conversion by pieces."""
    units, seen = ids.units(), Counter()
    places, _ = kept(y, ids, Schema.from_dict({**KEYS, "rows_per_unit": 100}), coins)
    places, ranks = places[np.lexsort((places // 16, units[places]))], []
    for place in places:
        seen[units[place], place // 16] += 1
        ranks.append(seen[units[place], place // 16])
    ranks = np.array(ranks)
    return places[ranks <= 5], ranks[ranks <= 5] == 1


kept = unit_blocks._kept


@pytest.mark.parametrize("n_more", [0, 1, 5, 60])
def test_all_rows_of_a_unit_move_at_most_k_rows_of_a_store(tmp_path, monkeypatch, n_more):
    # By coins of its own a row is kept, or a unit placed, whatever other rows there are.
    frame = rows_of(60, 9)
    other = rows_of(n_more, 1, seed=1).assign(id="one more")

    def changed():
        found = []
        for each in (frame, pd.concat([frame, other])):
            with_coins(monkeypatch)
            found.append(rows_in(converted(tmp_path, each)[1]))
        before, after = map(Counter, found)
        # Others stay in their order.
        assert [row for row in found[1] if row in before] == found[0]
        assert not before - after
        return (after - before).total()

    assert changed() == min(n_more, 5)
    monkeypatch.setattr(unit_blocks, "_kept", bounded_by_stretches)
    assert n_more < 16 or changed() > 5


def test_rows_are_brought_side_by_side_in_as_many_passes_as_memory_wants(stored, monkeypatch):
    file, store = stored
    with_coins(monkeypatch)
    convert(file, store, SCHEMA)
    found, sizes = rows_in(store), open_store(store)[0].block_rows()
    with_coins(monkeypatch)
    monkeypatch.setattr(unit_blocks, "_BYTES_AT_ONCE", 1)
    convert(file, store, SCHEMA)
    assert rows_in(store) == found and open_store(store)[0].block_rows() == sizes


def test_units_of_one_word_stay_apart(tmp_path, monkeypatch):
    of_rows = np.random.default_rng(0)
    coins = lambda size: bytes(size) if size == 8 * 40 else of_rows.bytes(size)  # noqa: E731
    monkeypatch.setattr(conversion, "bounded_blocks", partial(bounded_blocks, coins=coins))
    data = Dataset.from_file(converted(tmp_path, rows_of(40, 9))[1], None)
    assert data.n_units == 40 and data.table().n_rows == data.y.size


def test_a_table_of_one_unit_has_k_rows(tmp_path):
    _, store = converted(tmp_path, rows_of(9000, 1).assign(id="one"))
    data = Dataset.from_file(store, None)
    assert (data.n_units, data.y.size) == (1, 5)
    assert dpcore.fit(store, epsilon=1.0).privacy["private"]
    with pytest.raises(InvalidInputError, match="at least 2 units, and this one has 1"):
        dpcore.fit(store, epsilon=1.0, relation="replace-one")


def test_units_of_a_store_are_known_to_all_that_goes_by_them(stored, tmp_path):
    file, store = stored
    assert dpcore.fit(store, epsilon=2.0, delta=0.0, seed=1).algo["name"] == "privgene"
    assert DataRequest(store).has_units and not DataRequest(file).has_units

    def values(rows, **schema):
        with open_session(rows, epsilon=2.0, seed=4, relation="replace-one", **schema) as session:
            return session.count(share=0.5), *session.mean("x", share=0.5)

    assert values(store) == values(file, schema=SCHEMA)
    held_out = [dpcore.Evaluation(0.3, test_fraction=0.3)]
    model = dpcore.fit(store, also=held_out, epsilon=2.0, relation="replace-one")
    assert model.report["units_train"] == 4550 and "n_train" not in model.report


@pytest.mark.parametrize("change", ["a unit in two blocks", "a mark that is none", "more rows"])
def test_marks_that_no_conversion_writes_are_refused(tmp_path, monkeypatch, change):
    def blocks(*asked):
        for rows, y, is_first in bounded_blocks(*asked):
            marks = is_first.astype(np.uint8)
            if change == "more rows":
                marks[1:] = 0
            else:
                marks[0 if "two" in change else 2] = 0 if "two" in change else 7
            yield rows, y, marks

    monkeypatch.setattr(conversion, "bounded_blocks", blocks)
    _, store = converted(tmp_path, rows_of(8, 3))
    with pytest.raises(DataError, match="from 1 to .* were altered"):
        Dataset.from_file(store, None)


@pytest.mark.parametrize("how", ["a mark that was changed", "cut short", "more behind"])
def test_a_store_that_was_altered_is_refused(tmp_path, how):
    _, store = converted(tmp_path, rows_of(300, 5))
    content = bytearray(Path(store).read_bytes())
    X, y, _ = open_store(store)
    if how == "a mark that was changed":  # Rows of one unit would be those of two.
        content[PAGE + y.size * 13 + 1] ^= 1
    Path(store).write_bytes(
        content[:-9] if how == "cut short" else content + b"0" * ("more" in how)
    )
    with pytest.raises(DataError, match="rows.dpcore: the rows from 1 to|cut short"):
        dpcore.fit(store, epsilon=1.0)


def test_a_full_disk_leaves_nothing_of_the_rows_of_units(tmp_path, monkeypatch):
    def full(file, pieces, *asked):
        assert len([*pieces]) == 1
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(unit_blocks, "write_pieces", full)
    with pytest.raises(InvalidInputError, match="rows.dpcore': No space left on device"):
        converted(tmp_path, rows_of(9, 2))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_block_sizes_that_do_not_add_up_are_refused():
    known = Description(SCHEMA, 3, False, ("a" * 64,), of_blocks=(3,))
    text = json.loads(known.tail()[:-48])
    for sizes in ([2], [3, 0], [], [3.0], [-1, 4], None, [True, 2], 3):
        with pytest.raises((ValueError, TypeError)):
            Description._from_json({**text, "block_rows": sizes})
    assert Description._from_json(text).block_rows() == [3]
    of_rows = {**text, "schema": SCHEMA.with_units(None).to_dict()}
    with pytest.raises(ValueError):
        Description._from_json({**of_rows, "block_rows": [3]})


def test_a_store_that_marks_no_units_gives_none(tmp_path):
    data = Dataset.from_file(converted(tmp_path, rows_of(5, 2))[1], None)
    rows = [(rows, data.y) for rows in data.X.pieces()]
    write_rows(rows, tmp_path / "plain.dpcore", SCHEMA, False, False)
    with pytest.raises(InvalidInputError, match="whose ids plain.dpcore does not come with"):
        Dataset.from_file(tmp_path / "plain.dpcore", None)
