"""A folder of stores: whole or not at all, by one conversion at a time, also after a kill."""

import fcntl
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.store import convert_partitions
from dpcore_tables.store.unfinished import claimed_folder, hold_folder, partial_path

SCHEMA = Schema.from_toml(
    '[columns]\nx = { kind = "numeric", lower = 0, upper = 1 }\n'
    'y = { kind = "label", classes = [0, 1] }\n'
)
KILLED = """
import multiprocessing, os, signal, sys
from dpcore import Schema
from dpcore_tables.store import convert_partitions

def on_store(done, of):
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    schema = Schema.from_toml(sys.argv[3])
    convert_partitions(sys.argv[1], sys.argv[2], schema, jobs=2, on_store=on_store)
"""


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(4):
        table = pa.table({"x": [k / 100 for k in range(100)], "y": [k % 2 for k in range(100)]})
        pq.write_table(table, folder / f"{i}.parquet")
    return folder


def is_there(process):
    done = subprocess.run(["ps", "-o", "stat=", "-p", process], capture_output=True, text=True)
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


@pytest.mark.slow
def test_a_killed_conversion_takes_its_processes_along_and_the_next_removes_its_rows(parts):
    out, script = parts.parent / "out", parts.parent / "killed.py"
    script.write_text(KILLED)
    asked = [sys.executable, script, parts, out, SCHEMA.to_toml()]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    children, until = done.stdout.split(), time.monotonic() + 60
    assert len(children) == 2
    while any(map(is_there, children)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_there, children))
    assert not out.exists()
    left = partial_path(str(out))
    assert any(name.endswith(".dpcore") for name in os.listdir(left))
    convert_partitions(parts, out, SCHEMA, jobs=1)
    assert sorted(os.listdir(out)) == [f"{i}.dpcore" for i in range(4)]
    assert Dataset.from_file(out / "0.dpcore", None).y.size == 100
    assert {name.name for name in parts.parent.iterdir()} == {"out", "parts", "killed.py"}


@pytest.mark.slow
def test_a_folder_that_another_conversion_writes_is_let_be(parts):
    out = parts.parent / "out"
    unfinished = partial_path(str(out))
    held = claimed_folder(str(out), unfinished)
    (parts.parent / ".out.partial" / "0.dpcore").write_text("rows")
    with pytest.raises(InvalidInputError, match="being written by another process"):
        convert_partitions(parts, out, SCHEMA)
    # A process of that conversion keeps the lock for as long as it lives.
    child = os.fork()
    if child == 0:
        try:
            claimed = os.fstat(held)
            os.close(held)
            hold_folder(unfinished, claimed)
            signal.pause()
        finally:
            os._exit(1)
    try:
        while not shared_by_others(unfinished, held):
            time.sleep(0.01)
        os.close(held)
        with pytest.raises(InvalidInputError, match="being written by another process"):
            convert_partitions(parts, out, SCHEMA)
        assert os.listdir(unfinished) == ["0.dpcore"]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    convert_partitions(parts, out, SCHEMA)
    assert not os.path.exists(unfinished)


def shared_by_others(folder, held):
    """Whether somebody beside ``held`` has the folder's lock, whose descriptor keeps its own."""
    fcntl.flock(held, fcntl.LOCK_UN)
    other = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(other)
        fcntl.flock(held, fcntl.LOCK_SH)
    return False


def test_a_process_that_comes_late_does_not_write_into_another_s_folder(parts):
    unfinished = partial_path(str(parts.parent / "out"))
    first = os.stat(parts)
    held = claimed_folder("out", unfinished)
    with pytest.raises(FileNotFoundError):
        hold_folder(unfinished, first)
    os.close(held)
    os.rmdir(unfinished)
    with pytest.raises(FileNotFoundError):
        hold_folder(unfinished, first)


@pytest.mark.parametrize("kind", ["file", "link", "other files"])
def test_what_no_conversion_left_is_not_removed(parts, kind):
    out = parts.parent / "out"
    unfinished, mine = parts.parent / ".out.partial", parts.parent / "mine"
    mine.mkdir()
    (mine / "kept.txt").write_text("mine")
    if kind == "file":
        unfinished.write_text("mine")
    elif kind == "link":
        unfinished.symlink_to(mine)
    else:
        mine.rename(unfinished)
    with pytest.raises(InvalidInputError, match="Cannot write"):
        convert_partitions(parts, out, SCHEMA)
    kept = unfinished if kind == "file" else unfinished / "kept.txt"
    assert kept.read_text() == "mine"
    assert not out.exists()
