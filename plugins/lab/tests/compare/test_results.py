"""The results file: whole, of one format, and saying what its metrics are."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.errors import DataError
from dpcore_lab.compare.journal import open_journal
from dpcore_lab.compare.notes import notes_of
from dpcore_lab.compare.results import Results, read_results, write_results
from dpcore_lab.compare.settings import STATEMENT
from dpcore_lab.compare.table import MEASURES, means_of, measures_beside


@pytest.fixture
def results(small_results):
    return small_results


def test_the_statement_names_every_measure():
    words = {"macro_f1": "macro F1", "rmse": "errors", "mae": "errors"}
    without_privacy = STATEMENT.partition("WITHOUT privacy")[0].lower()
    for measure in MEASURES:
        assert words.get(measure, measure).lower() in without_privacy, measure


def test_it_says_what_its_metrics_are(results, tmp_path):
    write_results(tmp_path / "r.parquet", results)
    described = json.loads(pq.read_schema(tmp_path / "r.parquet").metadata[b"dpcore"])
    assert "computed WITHOUT privacy" in described["statement"]
    assert "itself a release" in described["statement"]
    assert described["settings"]["relation"] == "add-or-remove-one"
    assert read_results(tmp_path / "r.parquet").rows == results.rows


def test_each_column_of_exact_metrics_says_so_whatever_is_taken_out_of_the_file(results, tmp_path):
    path = tmp_path / "r.parquet"
    write_results(path, results)
    names = pq.read_schema(path).names
    assert {"exact_accuracy", "exact_objective", "exact_seconds", "private"} <= set(names)
    assert not {"accuracy", "objective", "seconds"} & set(names)
    assert "tells how many rows there are" in STATEMENT


def test_it_is_readable_by_its_owner_only(results, tmp_path):
    path = tmp_path / "r.parquet"
    path.write_text("")
    path.chmod(0o644)
    write_results(path, results)
    assert path.stat().st_mode & 0o777 == 0o600


OLD_NAMES = {f"exact_{name}": name for name in ("accuracy", "objective", "seconds")}


def test_files_and_journals_of_before_the_columns_said_so_are_read(results, tmp_path):
    path = tmp_path / "r.parquet"
    write_results(path, results)
    table = pq.read_table(path)
    old = [OLD_NAMES.get(name, name) for name in table.column_names]
    old_table = table.rename_columns(old).replace_schema_metadata(table.schema.metadata)
    pq.write_table(old_table, path)
    assert read_results(path).rows == results.rows
    journal = open_journal(tmp_path / "j.parquet", {}, {}, b"key")
    for row in results.rows:
        journal.append({OLD_NAMES.get(name, name): value for name, value in row.items()})
    journal.close()
    again = open_journal(tmp_path / "j.parquet", {}, {}, b"key")
    again.close()
    assert list(again.rows.values()) == results.rows


METRICS = ["exact_macro_f1", "exact_rmse", "exact_mae", "exact_r2", "guarantee", "exact_auc"]


@pytest.mark.parametrize(
    "added",
    [
        ["chosen", "most_rows", "parts_not_from_dpcore", "unit_of_protection", *METRICS],
        ["unit_of_protection", *METRICS],
        METRICS,
        METRICS[1:],
        METRICS[-2:],
        METRICS[-1:],
    ],
)
def test_a_file_of_before_the_last_columns_is_read(results, tmp_path, added):
    path = tmp_path / "r.parquet"
    write_results(path, results)
    pq.write_table(pq.read_table(path).drop(added), path)
    old = read_results(path).rows
    assert old == [{**row, **dict.fromkeys(added)} for row in results.rows]


def test_a_journal_of_before_the_last_column_goes_on(results, tmp_path):
    journal = open_journal(tmp_path / "j.parquet", {}, {}, b"key")
    for row in results.rows:
        journal.append({name: row[name] for name in row if name not in METRICS})
    journal.close()
    again = open_journal(tmp_path / "j.parquet", {}, {}, b"key")
    again.close()
    kept = Results(results.settings, list(again.rows.values()))
    assert means_of(kept.rows, "accuracy") == means_of(results.rows, "accuracy")
    assert measures_beside(kept.rows, "accuracy") == ()
    write_results(tmp_path / "j.parquet", kept)
    of_before = [{**row, **dict.fromkeys(METRICS)} for row in results.rows]
    assert read_results(tmp_path / "j.parquet").rows == of_before


def test_others_are_refused(results, tmp_path):
    path = tmp_path / "r.parquet"
    with pytest.raises(DataError, match="Cannot read"):
        read_results(path)
    write_results(path, results)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="not a whole results file"):
        read_results(path)
    for described in (b"{}", b"[" * 10**5, b"9" * 5000):
        other = pa.table({"accuracy": [0.8]}).replace_schema_metadata({b"dpcore": described})
        pq.write_table(other, path)
        with pytest.raises(DataError, match="is not a results file of dpcore compare"):
            read_results(path)


@pytest.mark.parametrize("text", ["[" * 10**5, "9" * 5000, "{}", "[1]", "a:B"])
def test_parts_that_are_no_list_are_refused(results, text):
    rows = [{**row, "parts_not_from_dpcore": text} for row in results.rows]
    with pytest.raises(DataError, match="no list of the parts"):
        notes_of(rows, means_of(rows, "accuracy"))


def test_another_version_is_refused(results, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcore_lab.compare.results.FORMAT_VERSION", 2)
    write_results(tmp_path / "r.parquet", Results(results.settings, results.rows))
    monkeypatch.undo()
    with pytest.raises(DataError, match="has version 2; this dpcore reads 1"):
        read_results(tmp_path / "r.parquet")
