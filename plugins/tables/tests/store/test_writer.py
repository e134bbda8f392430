"""Writing a store: whole or not at all, by one process at a time."""

import errno
import fcntl
import os
import subprocess
import sys

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.files.read_progress import watched
from dpcore_tables.store import convert, open_store
from dpcore_tables.store.unfinished import partial_path

SCHEMA = """
[columns]
x = { kind = "numeric", lower = 0, upper = 1 }
y = { kind = "label", classes = [0, 1] }
"""


def with_rows(folder):
    text = "x,y\n" + "".join(f"{i / 100},{i % 2}\n" for i in range(100))
    (folder / "rows.csv").write_text(text)
    (folder / "schema.toml").write_text(SCHEMA)
    return folder


@pytest.fixture
def rows(tmp_path):
    return with_rows(tmp_path) / "rows.csv"


CHILDREN = """
import os, resource, signal, sys, traceback
from dpcore import Schema
from dpcore_tables.store import convert
from dpcore_tables.files.read_progress import watched

def killed():
    return lambda *told: os.kill(os.getpid(), signal.SIGKILL)

def full():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    return lambda *told: None

def act(folder, prepare):
    on_bytes = prepare()
    schema = Schema.read(folder + "/schema.toml")
    with watched(on_bytes):
        convert(folder + "/rows.csv", folder + "/rows.dpcore", schema)

for folder, prepare in zip(sys.argv[1:], (killed, full), strict=True):
    child = os.fork()  # Arrow has no threads before the first row is read.
    if not child:
        try:
            act(folder, prepare)
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Folders of conversions in processes of their own, of which one was killed and one had no room
    on its disk; how these ended, and what was printed. One interpreter loads dpcore for both."""
    folders = [with_rows(tmp_path_factory.mktemp(name)) for name in ("killed", "full")]
    asked = [sys.executable, "-c", CHILDREN, *folders]
    done = subprocess.run(asked, capture_output=True, text=True)
    return folders, done.stdout.split(), done.stderr


@pytest.mark.slow
def test_a_killed_conversion_leaves_no_store_and_the_next_one_begins_anew(ended):
    (tmp_path, _), (status, _), _ = ended
    rows, out = tmp_path / "rows.csv", tmp_path / "rows.dpcore"
    assert status == "-9"
    assert not out.exists() and os.path.exists(partial_path(str(out)))
    with pytest.raises(DataError, match="was not finished; convert the rows again"):
        open_store(out)
    convert(rows, out, Schema.from_toml(SCHEMA))
    assert Dataset.from_file(out, None).y.size == 100
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "rows.dpcore", "schema.toml"]


def test_a_full_disk_leaves_nothing_behind(ended):
    (_, folder), (_, status), printed = ended
    assert status == "1"
    assert "InvalidInputError: Cannot write" in printed and "File too large" in printed
    assert sorted(os.listdir(folder)) == ["rows.csv", "schema.toml"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyError()])
def test_whatever_fails_at_the_end_the_old_store_stays(rows, tmp_path, monkeypatch, error):
    out = tmp_path / "rows.dpcore"
    convert(rows, out, Schema.from_toml(SCHEMA))
    before = out.read_bytes()

    def fail(descriptor):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    expected = InvalidInputError if isinstance(error, OSError) else KeyError
    with pytest.raises(expected):
        convert(rows, out, Schema.from_toml(SCHEMA))
    assert out.read_bytes() == before
    assert not os.path.exists(partial_path(str(out)))


def test_one_process_writes_at_a_time(rows, tmp_path):
    out = tmp_path / "rows.dpcore"
    with open(partial_path(str(out)), "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b"half a store")
        other.flush()
        with pytest.raises(InvalidInputError, match="being written by another process"):
            convert(rows, out, Schema.from_toml(SCHEMA))
        with pytest.raises(DataError, match="being written by another process"):
            open_store(out)
        assert os.path.getsize(partial_path(str(out))) == 12  # The other's work is untouched.
    convert(rows, out, Schema.from_toml(SCHEMA))
    assert Dataset.from_file(out, None).y.size == 100


def test_two_conversions_at_once_end_in_one_whole_store(rows, tmp_path):
    out = tmp_path / "rows.dpcore"
    outcomes = []
    real = os.replace

    def while_the_first_is_about_to_end(source, target):
        # The lock is that of an open file: this process has no more right to it than another.
        with pytest.raises(InvalidInputError, match="being written by another process"):
            convert(rows, out, Schema.from_toml(SCHEMA))
        outcomes.append(os.path.exists(out))
        real(source, target)

    os.replace = while_the_first_is_about_to_end
    try:
        convert(rows, out, Schema.from_toml(SCHEMA))
    finally:
        os.replace = real
    assert outcomes == [False] and Dataset.from_file(out, None).y.size == 100


def test_what_is_refused_before_a_row_is_read(rows, tmp_path):
    schema = Schema.from_toml(SCHEMA)
    (tmp_path / "notes.dpcore").write_text("my notes, not a store")
    matrix = Schema.from_toml('width = 3\n[columns]\ny = { kind = "label", classes = [0, 1] }')
    cases = [
        (rows, tmp_path / "rows.store", schema, "to be NAME.dpcore"),
        (rows, tmp_path / "notes.dpcore", schema, "is no store"),
        (rows, tmp_path / "none" / "rows.dpcore", schema, "No such file or directory"),
        (rows, tmp_path / "rows.dpcore", matrix, "unnamed features"),
        (tmp_path / "some.dpcore", tmp_path / "rows.dpcore", schema, "is a store already"),
    ]
    for source, out, its_schema, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            convert(source, out, its_schema)
    assert (tmp_path / "notes.dpcore").read_text() == "my notes, not a store"
    with pytest.raises(DataError, match="No such file"):
        convert(tmp_path / "none.csv", tmp_path / "rows.dpcore", schema)
    assert not os.path.exists(partial_path(str(tmp_path / "rows.dpcore")))


def test_a_link_stays_and_its_target_is_replaced(rows, tmp_path):
    (tmp_path / "disk").mkdir()
    link, target = tmp_path / "rows.dpcore", tmp_path / "disk" / "big.dpcore"
    link.symlink_to(target)
    convert(rows, link, Schema.from_toml(SCHEMA))
    assert link.is_symlink() and np.array_equal(open_store(target)[1], open_store(link)[1])


@pytest.mark.parametrize("kind", ["open to all", "link", "hard link", "link to the source"])
def test_rows_go_to_a_file_of_their_own_whatever_stands_under_its_name(rows, tmp_path, kind):
    out, victim = tmp_path / "rows.dpcore", tmp_path / "victim.txt"
    partial = partial_path(str(out))
    victim.write_text("somebody's notes")
    victim.chmod(0o644)
    before = rows.read_bytes()
    if kind == "open to all":
        os.close(os.open(partial, os.O_CREAT, 0o666))
        os.chmod(partial, 0o666)
        earlier = os.open(partial, os.O_RDONLY)
    elif kind == "hard link":
        os.link(victim, partial)
    else:
        os.symlink(rows if kind == "link to the source" else victim, partial)
    try:
        convert(rows, out, Schema.from_toml(SCHEMA))
        assert "link" != kind and out.stat().st_mode & 0o777 == 0o600 and out.stat().st_nlink == 1
        assert Dataset.from_file(out, None).y.size == 100
    except InvalidInputError as error:
        assert kind.startswith("link") and "Cannot write" in str(error)
    if kind == "open to all":
        assert os.read(earlier, 10) == b""
        os.close(earlier)
    assert victim.read_text() == "somebody's notes" and rows.read_bytes() == before


def test_a_name_taken_over_in_between_is_noticed(rows, tmp_path):
    out = tmp_path / "rows.dpcore"

    def take_over(*told):
        os.unlink(partial_path(str(out)))
        with open(partial_path(str(out)), "w") as other:
            other.write("another's")

    with watched(take_over), pytest.raises(InvalidInputError, match="took the place"):
        convert(rows, out, Schema.from_toml(SCHEMA))
    assert not out.exists()
    with open(partial_path(str(out))) as other:
        assert other.read() == "another's"
