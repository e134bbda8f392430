"""A reader and a store of a distribution of its own, found by the suffixes that it registers."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from jsonl_rows import hooks
from jsonl_rows.reader import JsonLines

from dpcore import Schema, fit, load_model
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.engines import Files
from dpcore.plugin.parts import Dataset
from dpcore.registry import catalogue
from dpcore_tables.files import open_rows, suffixes
from dpcore_tables.store import convert

SCHEMA = Schema.from_toml("""
[columns]
age = { kind = "numeric", lower = 17, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
id = { kind = "drop" }
ill = { kind = "label", classes = ["no", "yes"] }
""")
ROWS = [
    {"age": 20 + i, "city": ["Bern", "Basel"][i % 2], "ill": ["no", "yes"][i % 2]}
    for i in range(60)
]


class _Point:
    """An entry point, where the distribution is not installed."""

    name, dist, module = "jsonl", None, hooks.__name__

    def load(self):
        return hooks


@pytest.fixture
def dask():
    pytest.importorskip("distributed")
    import dpcore_dask.files
    import dpcore_dask.sources

    return dpcore_dask


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    points = [*catalogue.metadata.entry_points(group=catalogue.GROUP)]
    if all(point.name != "jsonl" for point in points):
        points.append(_Point())
    registry = catalogue.Registry.of(points)
    monkeypatch.setattr("dpcore_tables.files.formats.load_registry", lambda kind: registry)
    monkeypatch.setattr(
        "dpcore_tables.files.formats.Registry", SimpleNamespace(in_turn=lambda kind: (registry,))
    )
    monkeypatch.setattr("dpcore_tables.store.conversion.load_registry", lambda kind: registry)


def written(folder, lines, name="rows.jsonl"):
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder / name


def test_it_is_trained_predicted_and_named(tmp_path):
    path = written(tmp_path, map(json.dumps, ROWS))
    model = fit(path, schema=SCHEMA, algo="dp-gd", params={"steps": "9"}, epsilon=3.0)
    assert model.privacy["parts_not_from_dpcore"] == ["jsonl_rows.reader:open_jsonl"]
    model.save(tmp_path / "model.json")
    assert len(load_model(tmp_path / "model.json").predict(path)) == 60


def test_a_scheme_names_the_reader_where_no_suffix_does(tmp_path):
    path = written(tmp_path, map(json.dumps, ROWS), "export")
    source = f"jsonl://{path}"
    assert Files.format_of(source) == "jsonl"
    model = fit(source, schema=SCHEMA, algo="dp-gd", params={"steps": "9"}, epsilon=3.0)
    assert model.privacy["parts_not_from_dpcore"] == ["jsonl_rows.reader:open_jsonl"]
    assert (
        Dataset.from_file(source, SCHEMA).y == Dataset.from_file(path, SCHEMA, format="jsonl").y
    ).all()
    assert Files.format_of(f"jsonl://{path}.csv") == "jsonl"  # whatever it ends in
    with pytest.raises(InvalidInputError, match="No installed reader has the scheme 'other'"):
        Files.format_of(f"other://{path}")


@pytest.mark.parametrize("line", ['{"age": 7, "city": "S3cret"', '["S3cret"]', '{"age": "S3cret"}'])
def test_a_malformed_line_is_refused_by_its_place_or_dropped_by_itself(tmp_path, line):
    path = written(tmp_path, [json.dumps(ROWS[0]), line, "", json.dumps(ROWS[1])])
    with pytest.raises(DataError, match=r"rows.jsonl, line 2: no JSON object") as told:
        Dataset.from_file(path, SCHEMA)
    assert "S3cret" not in str(told.value) and told.value.__context__ is None
    assert Dataset.from_file(path, SCHEMA, bad_rows="drop").y.tolist() == [-1.0, 1.0]


def test_a_bad_cell_is_refused_by_its_line(tmp_path):
    path = written(tmp_path, [json.dumps(ROWS[0]), json.dumps(ROWS[1] | {"age": "S3cret"})])
    with pytest.raises(DataError, match="line 2, column 'age': the cell is not a finite") as told:
        Dataset.from_file(path, SCHEMA)
    assert "S3cret" not in str(told.value)


def test_suffixes_are_listed_and_no_lines_are_rows_too(tmp_path):
    assert ".jsonl" in suffixes() and suffixes()[0] == ".csv"
    with pytest.raises(InvalidInputError, match=r"let it end in one of .csv, .*\.jsonl, "):
        Files.format_of("rows.sav")
    assert Dataset.from_file(written(tmp_path, []), SCHEMA).X.shape == (0, SCHEMA.n_features)


def test_a_store_keeps_rows_and_schema(tmp_path):
    path = written(tmp_path, map(json.dumps, ROWS))
    convert(path, tmp_path / "rows.coded", SCHEMA)
    kept, rows = Dataset.from_file(tmp_path / "rows.coded", None), Dataset.from_file(path, SCHEMA)
    assert kept.schema == SCHEMA and (kept.X.toarray() == rows.X.toarray()).all()
    assert (kept.y == rows.y).all() and kept.read_by == ("jsonl_rows.store:STORE",)
    (tmp_path / "rows.coded").write_bytes(b"PK")
    with pytest.raises(DataError, match="no whole store of encoded rows"):
        Dataset.from_file(tmp_path / "rows.coded", None)
    with pytest.raises(InvalidInputError, match="units.coded' is a store that holds no units"):
        convert(path, tmp_path / "units.coded", SCHEMA.with_units("id", 2))
    assert not (tmp_path / "units.coded").exists()


def test_a_store_of_its_rows_names_the_reader(tmp_path):
    path = written(tmp_path, map(json.dumps, ROWS))
    convert(path, tmp_path / "rows.dpcore", SCHEMA)
    model = fit(tmp_path / "rows.dpcore", algo="dp-gd", params={"steps": "9"}, epsilon=3.0)
    assert model.privacy["parts_not_from_dpcore"] == ["jsonl_rows.reader:open_jsonl"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "rows"
    place.mkdir()
    for part in range(3):
        written(place, map(json.dumps, ROWS[20 * part : 20 * part + 20]), f"{part}.part")
    return f"jsonl://{place}"


def test_a_folder_is_one_table_of_its_files(folder):
    assert Files.format_of(folder) == "jsonl"
    opened = open_rows(folder, SCHEMA)
    assert [name.rsplit("/", 1)[1] for name in opened.partitions()] == [
        "0.part",
        "1.part",
        "2.part",
    ]
    parts = [Dataset.from_file(name, SCHEMA).y for name in opened.partitions()]
    assert (np.concatenate(parts) == Dataset.from_file(folder, SCHEMA).y).all()


def test_an_engine_on_a_cluster_reads_its_partitions_and_names_the_reader(folder, dask):
    names = dask.files.names_of(Files(folder), SCHEMA)
    sources = [dask.files.FileSource(name, SCHEMA, "refuse", ()) for name in names]
    found = [source.open() for source in sources]
    rows = dask.sources._rows_of(Files(folder), sources, [part.facts for part in found])
    assert (len(names), rows.n_units) == (3, 60)
    assert rows.read_by == ("jsonl_rows.reader:open_jsonl",)
    assert [part.stamp for part in found] == [source.stamp() for source in sources]
    written(Path(folder.removeprefix("jsonl://")), [json.dumps(ROWS[0])], "1.part")
    assert found[1].stamp != sources[1].stamp()


@pytest.mark.parametrize("names", [[], ["jsonl://a", "jsonl://b", "jsonl://a"]])
def test_a_partition_that_is_named_twice_is_refused(names, folder, dask, monkeypatch):
    # Its rows would count twice, which no sensitivity allows for.
    monkeypatch.setattr(JsonLines, "partitions", lambda self: names)
    with pytest.raises(DataError, match="names no partition of it, or one twice"):
        dask.files.names_of(Files(folder), SCHEMA)


def test_an_address_whose_reader_sees_no_change_is_not_read_apart(folder, dask, monkeypatch):
    monkeypatch.delattr(JsonLines, "digest")
    with pytest.raises(InvalidInputError, match=r"has no digest\(\).*--engine local"):
        dask.files.FileSource(folder, SCHEMA, "refuse", ()).open()
