"""Parquet files of an object store, which a server of this machine plays: one bucket, by ranges."""

import functools
import http.server
import io
import os
import re
import shutil
import threading
import urllib.parse
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canaries import leaks_of, raised_by

import dpcore
from dpcore import Schema
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_ledger import TableLedger, Terms
from dpcore_tables.databases.address import with_query
from dpcore_tables.store import convert

SCHEMA = Schema.from_toml("""[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
paid = { kind = "label", classes = [0, 1] }
""")
KEY, SECRET = "key-of-the-owner", "4711-secret"
LISTED = "<ListBucketResult><IsTruncated>false</IsTruncated>{}</ListBucketResult>"


class Bucket(http.server.SimpleHTTPRequestHandler):
    """The requests of a client that lists a bucket and reads ranges of its objects."""

    def __init__(self, *words, asked, **options):
        self.asked = asked
        super().__init__(*words, **options)

    def log_message(self, *_):
        """Print nothing."""

    def send_head(self):
        asked = urllib.parse.urlsplit(self.path)
        is_signed = KEY in (self.headers.get("Authorization") or "")
        self.asked.append((self.command, asked.path, self.headers.get("Range"), is_signed))
        folder = Path(self.directory)
        if "list-type" in urllib.parse.parse_qs(asked.query):
            each = "<Contents><Key>{}</Key><Size>{}</Size></Contents>"
            files = (each.format(p.name, p.stat().st_size) for p in sorted(folder.iterdir()))
            return self._answer(200, LISTED.format("".join(files)).encode(), {})
        file = folder / Path(asked.path).name
        if not file.is_file():
            return self._answer(404, b"", {})
        content = file.read_bytes()
        told = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if told is None:
            return self._answer(200, content, {"Accept-Ranges": "bytes"})
        first, last = int(told[1]), min(int(told[2]), len(content) - 1)
        place = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        return self._answer(206, content[first : last + 1], place)

    def _answer(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        return io.BytesIO(body)


@pytest.fixture
def bucket(tmp_path):
    """Lend the folder of a bucket with three files, its server's place, and what it was asked."""
    folder, asked = tmp_path / "bucket", []
    folder.mkdir()
    for number in range(3):
        age = np.arange(400.0) % 90
        other = np.random.default_rng(number).random(400)
        rows = pa.table({"age": age, "other": other, "paid": (age > 30 + number).astype(int)})
        pq.write_table(rows, folder / f"part{number}.parquet", row_group_size=100)
    handler = functools.partial(Bucket, directory=str(folder), asked=asked)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield folder, f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


def of(files):
    return with_query("duckdb://", f"select age, paid from '{files}'", False)


@pytest.fixture
def without_extensions(tmp_path, monkeypatch):
    """A home of its own, in which DuckDB has nothing installed."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("scheme", ["http", "s3", "gcs", "az"])
def test_what_duckdb_would_have_to_install_is_said_and_nobody_is_asked(
    bucket, tmp_path, without_extensions, scheme
):
    _, place, asked = bucket
    files = f"http://{place}/part0.parquet" if scheme == "http" else f"{scheme}://bucket/*.parquet"
    ledger = tmp_path / "table.ledger"
    TableLedger.create(str(ledger), Terms.of(9.0, 1e-6)).close()
    before, there = ledger.read_bytes(), sorted(os.listdir(tmp_path))
    words = {"schema": SCHEMA, "epsilon": 1.0, "delta": 1e-6, "ledger": str(ledger)}
    for act in (
        lambda: dpcore.fit(of(files), **words),
        lambda: convert(of(files), tmp_path / "rows.dpcore", SCHEMA),
    ):
        error = raised_by(act)
        name = "azure" if scheme == "az" else "httpfs"
        assert isinstance(error, InvalidInputError) and "\n" not in str(error)
        assert f"DuckDB's extension {name}" in str(error) and leaks_of(error) == []
    assert asked == [] and ledger.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == there


@pytest.fixture
def with_httpfs(bucket, tmp_path, monkeypatch):
    """A home of its own with this machine's httpfs, if any, and the secret of the bucket."""
    asked = "SELECT install_path FROM duckdb_extensions() WHERE extension_name = 'httpfs'"
    ((extension,),) = duckdb.sql(asked).fetchall()
    if not extension:
        pytest.skip("DuckDB's extension httpfs is not installed here: INSTALL httpfs")
    home, kept = tmp_path / "home", Path(extension)
    folder = home.joinpath(".duckdb", "extensions", *kept.parts[-3:-1])
    folder.mkdir(parents=True)
    shutil.copy(kept, folder)
    monkeypatch.setenv("HOME", str(home))
    with duckdb.connect() as opened:
        opened.execute("LOAD httpfs")
        opened.execute(
            f"CREATE PERSISTENT SECRET kept (TYPE s3, KEY_ID '{KEY}', SECRET '{SECRET}', "
            f"ENDPOINT '{bucket[1]}', USE_SSL false, URL_STYLE 'path')"
        )


def test_a_bucket_is_read_as_its_files_are(bucket, with_httpfs):
    folder, place, asked = bucket
    words = {"schema": SCHEMA, "epsilon": 1.0, "delta": 1e-6, "seed": 1}
    files = dpcore.fit(of(f"{folder}/*.parquet"), **words)
    assert asked == []
    model = dpcore.fit(of("s3://bucket/*.parquet"), **words)
    assert (model.coef == files.coef).all()
    assert all(is_signed for *_, is_signed in asked)  # by the secret that DuckDB keeps
    ranges = [told for command, path, told, _ in asked if command == "GET" and "part" in path]
    assert ranges and all(ranges)
    told = repr(model) + str(model.privacy)
    assert KEY not in told and SECRET not in told and "bucket" not in told
    one = Dataset.from_file(of(f"http://{place}/part1.parquet"), SCHEMA)
    assert len(one.y) == 400


def test_a_file_that_a_bucket_lacks_or_that_is_cut_is_said_in_a_line(bucket, with_httpfs, tmp_path):
    folder, place, asked = bucket
    content = (folder / "part0.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(content[: len(content) // 2])
    there = sorted(os.listdir(tmp_path))
    missing = [f"s3://bucket/{name}.parquet" for name in ("none", "cut")]
    for files in (*missing, f"http://{place}/none.parquet", "s3://bucket/none*.parquet"):
        error = raised_by(lambda files=files: convert(of(files), tmp_path / "r.dpcore", SCHEMA))
        assert isinstance(error, DpcoreError) and "\n" not in str(error), error
        assert SECRET not in str(error) and leaks_of(error) == []
    assert sorted(os.listdir(tmp_path)) == there and asked
