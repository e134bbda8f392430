"""Output files: whole or not at all, links kept, nothing left behind."""

import os

import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import OutFile


def test_a_new_file_and_an_old_one(tmp_path):
    path = tmp_path / "out.txt"
    OutFile(path).check()
    assert list(tmp_path.iterdir()) == []
    OutFile(path).write("first")
    OutFile(path).check()
    assert path.read_text() == "first"
    OutFile(path).write("zweites ä\n")
    assert path.read_text(encoding="utf-8") == "zweites ä\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "real" / "target.txt")
    OutFile(link).check()
    OutFile(link).write("text")
    assert link.is_symlink()
    assert (tmp_path / "real" / "target.txt").read_text() == "text"


def test_a_device_is_written_not_replaced():
    OutFile("/dev/null").check()
    OutFile("/dev/null").write("text")
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("name", ["", "missing/out.txt", "file/out.txt", "a\x00b", "x" * 300])
def test_unwritable_paths_are_found_first(tmp_path, name):
    (tmp_path / "file").write_text("")
    path = f"{tmp_path}/{name}"
    for use in (lambda p: OutFile(p).check(), lambda p: OutFile(p).write("text")):
        with pytest.raises(InvalidInputError, match="Cannot write"):
            use(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_permissions_are_respected(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInputError, match="Cannot write"):
        OutFile(tmp_path / "out.txt").check()


def test_a_failure_while_writing_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInputError, match="No space left"):
        OutFile(path).write("new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_input_is_never_the_output(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("a\n")
    (tmp_path / "link").symlink_to(rows)
    os.link(rows, tmp_path / "hard")
    for out in (rows, tmp_path / "link", tmp_path / "hard", tmp_path / "x" / ".." / "rows.csv"):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(InvalidInputError, match="is the file of --data; choose another path"):
            OutFile(out).refuse({"--schema": None, "--data": str(rows)})
    OutFile(tmp_path / "new").refuse({"--data": rows, "--test": tmp_path / "none"})
    OutFile(rows).refuse({"--data": "census-sim"})


def test_pieces_are_whole_or_not_at_all(tmp_path):
    def pieces():
        yield b"first "
        raise RuntimeError("the second cannot be made")

    path, device = tmp_path / "out.txt", tmp_path / "pipe"
    OutFile(path).write(iter([b"one ", b"two"]), mode=0o600)
    assert path.read_bytes() == b"one two" and path.stat().st_mode & 0o777 == 0o600
    for target in (path, "/dev/stdout"):
        with pytest.raises(RuntimeError, match="the second"):
            OutFile(target).write(pieces())
    assert path.read_bytes() == b"one two" and list(tmp_path.iterdir()) == [path]
    os.mkfifo(device)
    reader = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(RuntimeError, match="the second"):
        OutFile(device).write(pieces())
    OutFile(device).write(iter([b"one ", b"two"]))
    assert os.read(reader, 99) == b"one two"
    os.close(reader)
