"""Bytes that are told while files are read: up to all of them, of every format in pieces."""

import gzip
import io
import os
import sys
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.files.read_progress import watched
from dpcore_tables.readers import parquet, pieces

SCHEMA = Schema.from_toml("""
[columns]
x = { kind = "numeric", lower = 0, upper = 1 }
y = { kind = "label", classes = [0, 1] }
""")
ROWS = range(5_000)
TABLE = pd.DataFrame({"x": [i / len(ROWS) for i in ROWS], "y": [i % 2 for i in ROWS]})


@pytest.fixture
def told():
    return []


@pytest.fixture
def load(monkeypatch, told):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**14)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2**11)

    def watch(path):
        with watched(lambda *note: told.append(note)):
            Dataset.from_file(path, SCHEMA)

    return watch


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_bytes_are_told_up_to_all_of_the_file(tmp_path, load, told, name):
    path = str(tmp_path / name)
    if name.endswith("parquet"):
        TABLE.to_parquet(path)
    else:
        content = TABLE.to_csv(index=False).encode()
        Path(path).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    load(path)
    size = os.path.getsize(path)
    assert {(where, total) for where, _, total in told} == {(path, size)}
    done = [count for _, count, _ in told]
    assert len(done) >= 3 and done[-1] == size
    assert all(before <= after for before, after in pairwise(done))


def test_a_folder_is_told_as_one(tmp_path, load, told):
    for name in "ab":
        TABLE.to_parquet(tmp_path / f"{name}.parquet")
    load(str(tmp_path))
    size = sum(os.path.getsize(path) for path in tmp_path.iterdir())
    assert {total for *_, total in told} == {size} and told[-1][1] == size


def test_of_a_pipe_nobody_knows_the_end(load, told, monkeypatch):
    content = TABLE.to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    load("-")
    assert told[-1] == ("-", len(content), None)


def test_nobody_watches_beyond_the_block(tmp_path, load, told):
    TABLE.head().to_csv(tmp_path / "t.csv", index=False)
    load(tmp_path / "t.csv")
    count = len(told)
    Dataset.from_file(tmp_path / "t.csv", SCHEMA)
    assert count and len(told) == count
