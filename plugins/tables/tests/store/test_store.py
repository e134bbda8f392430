"""Rows in a store: the same released bits as the file, every byte under a checksum."""

import os
import shutil

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import (
    Dataset,
    LocalEngine,
    Logistic,
    SeededNoise,
    Table,
)
from dpcore_accounting.samples import PoissonSample
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_tables.files import feature_pieces
from dpcore_tables.store import convert, open_store, read_schema
from dpcore_tables.store.format import PAGE, STORE_ROWS, TAIL_BYTES

COLUMNS = """
row_norm = 1.2
[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
id = { kind = "drop" }
score = { kind = "numeric", lower = -1, upper = 1 }
pet = { kind = "categorical", categories = ["cat", "dog", "none"] }
"""
SCHEMAS = {
    "classes": COLUMNS + 'y = { kind = "label", classes = ["no", "yes"] }',
    "target": COLUMNS + 'y = { kind = "label", lower = -10, upper = 10 }',
    "numbers": """
[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
y = { kind = "label", classes = ["no", "yes"] }
""",
}


def write_csv(path, kind, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    label = {"target": lambda: f"{rng.normal(0, 8):.3f}"}.get(
        kind, lambda: rng.choice(["no", "yes"])
    )
    lines = ["age,y"] if kind == "numbers" else ["age,city,id,score,pet,y"]
    for i in range(n_rows):
        cells = [f"{rng.uniform(-5, 99):.4f}"]
        if kind != "numbers":
            cells += [rng.choice(["Bern", "Basel", "Genf"]), str(i), f"{rng.normal():.5f}"]
            cells += [rng.choice(["cat", "dog", "none", ""])]
        lines.append(",".join([*cells, label()]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def make(tmp_path):
    """Return the file, its schema and the store of so many rows."""

    def make(n_rows=40, kind="classes"):
        schema = Schema.from_toml(SCHEMAS[kind])
        write_csv(tmp_path / "rows.csv", kind, n_rows)
        convert(tmp_path / "rows.csv", tmp_path / "rows.dpcore", schema)
        return tmp_path / "rows.csv", schema, tmp_path / "rows.dpcore"

    return make


def answers(dataset, threads=1):
    loss = Squared() if dataset.schema.label.is_real else Logistic()
    bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    engine = LocalEngine(Table.from_matrix(dataset.X, dataset.y, **bounds), threads=threads)
    problem = Problem(loss, 0.0, dataset.n_features, relation=relation, **bounds)
    w, direction, parts = np.zeros(dataset.n_features), np.ones(dataset.n_features), []
    for step in (0.25, 0.5):
        line = ClippedLossLine(problem, w, direction, np.arange(5) * step, 2.0)
        parts += [engine.answer(line), engine.answer(ClippedGradientSum(problem, w, 0.5))]
        gradient = ClippedGradientSum(problem, w, 0.5, norm="l1")
        parts += [engine.answer(gradient)]
        parts += [engine.answer_table(PoissonSample(gradient, 0.1), SeededNoise(4))]
        w = line.w - step * line.direction
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("n_rows", [0, 1, 777])
def test_a_store_gives_the_bits_of_its_file(make, kind, n_rows):
    source, schema, store = make(n_rows, kind)
    whole, stored = Dataset.from_file(source, schema), Dataset.from_file(store, None)
    assert stored.schema == schema and stored.X.shape == (n_rows, schema.n_features)
    assert np.array_equal(stored.y, whole.y)
    if n_rows:
        assert np.array_equal(answers(stored), answers(whole))


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_blocks_end_where_they_are_full(make, extra):
    source, schema, store = make(2 * STORE_ROWS + extra, "numbers")
    whole, stored = Dataset.from_file(source, schema), Dataset.from_file(store, None)
    assert np.array_equal(answers(stored, threads=2), answers(whole))


def test_a_mask_takes_rows_as_of_an_array(make):
    source, schema, store = make(STORE_ROWS + 300)
    whole, stored = Dataset.from_file(source, schema), Dataset.from_file(store, None)
    rng = np.random.default_rng(1)
    for share in (0.9, 0.5):
        mask = rng.random(whole.y.size) < share
        whole, stored = whole.take(mask), stored.take(mask)
        assert np.array_equal(stored.y, whole.y) and stored.X.shape == whole.X.shape
        assert np.array_equal(answers(stored), answers(whole))
    assert stored.take(np.zeros(stored.y.size, dtype=bool)).X.shape[0] == 0
    with pytest.raises(TypeError, match="mask"):
        stored.X[np.arange(5)]


def test_features_are_found_again_for_predictions(make):
    source, schema, store = make()
    plan = make_plan(Settings(seed=1))
    model = Run(plan, Dataset.from_file(source, schema)).model()
    expected, found = (
        np.concatenate([model.margins(rows) for rows, _ in feature_pieces(path, schema)])
        for path in (source, store)
    )
    assert np.array_equal(found, expected)


def test_a_store_is_read_by_its_owner_only_and_keeps_its_schema(make):
    _, schema, store = make()
    assert store.stat().st_mode & 0o777 == 0o600
    assert read_schema(store) == schema


def refused(path):
    with pytest.raises(DataError) as caught:
        open_store(path)
    return str(caught.value)


def test_a_flipped_bit_anywhere_is_found(make, tmp_path):
    _, _, store = make(50)
    content, broken = store.read_bytes(), tmp_path / "broken.dpcore"
    tail = len(content) - TAIL_BYTES
    rng = np.random.default_rng(2)
    places = [0, 5, 13, 14, PAGE - 1, PAGE, PAGE + 17, tail - 1, tail, tail + 9, len(content) - 1]
    for at in [*places, *rng.integers(0, len(content), 200).tolist()]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(rng.integers(8))
        broken.write_bytes(damaged)
        assert str(broken) in refused(broken), at


def test_a_store_cut_short_or_with_more_behind_is_refused(make, tmp_path):
    _, _, store = make(50)
    content, broken = store.read_bytes(), tmp_path / "broken.dpcore"
    ends = [0, 1, 12, 100, PAGE, PAGE + 1, len(content) - TAIL_BYTES, len(content) - 1]
    for end in ends:
        broken.write_bytes(content[:end])
        assert "store" in refused(broken)
    broken.write_bytes(content + b"\0")
    assert "cut short" in refused(broken)
    broken.write_bytes(content[:PAGE] + content)
    assert "not as long" in refused(broken)


def test_other_files_and_versions_are_told_apart(make, tmp_path):
    _, _, store = make()
    broken = tmp_path / "broken.dpcore"
    broken.write_bytes(b"age,city\n1,Bern\n")
    assert "is not a dpcore store" in refused(broken)
    broken.write_bytes(store.read_bytes().replace(b"dpcore-store 1", b"dpcore-store 2", 1))
    assert "version 2, and this dpcore reads version 1" in refused(broken)
    assert "No such file" in refused(tmp_path / "none.dpcore")
    assert "Cannot read" in refused(tmp_path)


def test_cells_that_no_row_can_have_are_refused_under_a_right_checksum(make, monkeypatch, tmp_path):
    """A checksum says that nothing changed since; the bounds are looked at all the same."""
    from dpcore_tables.store import writer as module

    write = module._Writer._write

    def spoil(self, content):
        content[8 * 40 : 8 * 40 + 4].view("<f4")[0] = 1.5
        write(self, content)

    monkeypatch.setattr(module._Writer, "_write", spoil)
    _, _, store = make(40)
    assert "the rows from 1 to 40 were altered" in refused(store)


def test_a_store_that_changes_in_use_is_no_table_any_more(make):
    _, schema, store = make(60)
    stored = Dataset.from_file(store, None)
    before = answers(stored)
    replaced = store.with_name("new.dpcore")
    shutil.copy(store, replaced)
    os.replace(replaced, store)  # Another file of the name: the opened one is still there.
    assert np.array_equal(answers(stored), before)
    opened = Dataset.from_file(store, None)
    times = store.stat()
    with store.open("r+b") as file:
        file.seek(PAGE)
        file.write(b"\1")
    with pytest.raises(DataError, match="changed while it was in use"):
        answers(opened)
    os.utime(store, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(DataError, match="changed while it was in use"):
        answers(opened)


def test_dropped_rows_are_remembered(tmp_path):
    schema = Schema.from_toml(SCHEMAS["numbers"])
    (tmp_path / "rows.csv").write_text("age,y\n1,yes\nold,no\n2,no\n3,yes\n")
    store = tmp_path / "rows.dpcore"
    with pytest.raises(DataError, match="line 3, column 'age'"):
        convert(tmp_path / "rows.csv", store, schema)
    assert not store.exists()
    convert(tmp_path / "rows.csv", store, schema, bad_rows="drop")
    stored = Dataset.from_file(store, None)
    assert stored.rows_dropped and stored.y.size == 3
    assert stored.take(np.array([True, False, True])).rows_dropped
    with pytest.raises(InvalidInputError, match="replace-one"):
        Run(make_plan(Settings(relation="replace-one", seed=1)), stored).model()


def test_another_schema_or_target_is_refused(make):
    _, schema, store = make()
    assert Dataset.from_file(store, schema, target="y").schema == schema
    with pytest.raises(InvalidInputError, match="with another schema"):
        Dataset.from_file(store, Schema.from_toml(SCHEMAS["numbers"]))
    with pytest.raises(InvalidInputError, match="not the schema's label"):
        Dataset.from_file(store, None, target="age")
