"""Work in a process apart: its result comes back, and it reaches nothing outside."""

import gzip
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpcore_lab.isolation import is_apart, not_isolated, run_apart
from dpcore_lab.made_tables.altered_files import ALTERATIONS, alter

KEPT = []

apart = pytest.mark.skipif(not is_apart(), reason="no process apart on this platform")


def keep(value):
    KEPT.append(value)
    return os.getpid(), np.full(3, value)


@apart
def test_the_result_comes_back_and_nothing_else():
    process, values = run_apart(lambda: keep(7))
    assert process != os.getpid() and values.tolist() == [7, 7, 7] and KEPT == []


def write(path):
    with open(path, "w") as file:
        file.write("7")


@apart
@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (lambda: write("here.txt"), "writes to 'here.txt'"),
        (lambda: np.save("here.npy", np.zeros(3)), "writes to 'here.npy'"),
        (lambda: Path(__file__).unlink(), "changes files"),
        (lambda: os.open(os.curdir + "/new", os.O_CREAT | os.O_RDWR), "writes to './new'"),
        (lambda: socket.create_connection(("127.0.0.1", 9)), "reaches for the network"),
        (lambda: subprocess.run([sys.executable, "-V"], check=True), "starts another process"),
    ],
)
def test_what_leaves_the_process_is_refused(work, reason):
    with pytest.raises(AssertionError, match=reason):
        run_apart(work)
    assert Path(__file__).exists()


@apart
def test_a_refusal_that_is_swallowed_is_told():
    def work():
        try:
            write("here.txt")
        except OSError:
            return 7

    with pytest.raises(AssertionError, match="writes to 'here.txt'"):
        run_apart(work)


@apart
def test_reading_and_compiling_are_no_faults():
    def work():
        from numba import njit

        return njit(lambda x: x + 1)(6), Path(__file__).read_text()[:3]

    assert run_apart(work) == (7, '"""')


def test_errors_keep_their_kind():
    def refuse():
        raise AssertionError("it leaks")

    with pytest.raises(AssertionError, match="it leaks"):
        run_apart(refuse)
    with pytest.raises(ZeroDivisionError):
        run_apart(lambda: 1 // 0)


@apart
def test_what_fails_there_alone_is_told():
    here = os.getpid()
    with pytest.raises(AssertionError, match="fails in a process of its own, and not here: Zero"):
        run_apart(lambda: 1 // (os.getpid() == here))
    with pytest.raises(AssertionError, match="ended without an answer"):
        run_apart(lambda: os.getpid() == here or os._exit(3))
    with pytest.raises(AssertionError, match="cannot be sent"):
        run_apart(lambda: lambda: 7)


def test_elsewhere_the_work_is_done_here_and_that_is_told(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert run_apart(os.getpid) == os.getpid()
    assert "no process apart" in not_isolated()[0]


@pytest.mark.parametrize("how", ALTERATIONS)
def test_files_are_altered_by_their_rows(tmp_path, how):
    lines = [f"{i},{i % 7}\n" for i in range(200)]
    plain, packed = tmp_path / "rows.csv", tmp_path / "rows.csv.gz"
    plain.write_text("a,b\n" + "".join(lines).rstrip())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    np.savez(tmp_path / "rows.npz", X=np.arange(200), names=np.array(["a", "b"]))
    copies = tmp_path / "copies"
    copies.mkdir()
    kept = [lines[i] for i in ALTERATIONS[how](200)]
    assert Path(alter(str(plain), copies, ALTERATIONS[how])).read_text() == "a,b\n" + "".join(kept)
    with gzip.open(alter(str(packed), copies, ALTERATIONS[how]), "rt") as text:
        assert text.read() == "a,b\n" + "".join(kept)
    held = np.load(alter(str(tmp_path / "rows.npz"), copies, ALTERATIONS[how]))
    assert held["X"].size == len(kept) and held["names"].tolist() == ["a", "b"]


def test_files_without_rows_of_their_own_stay(tmp_path):
    (tmp_path / "image.bin").write_bytes(b"\0\1\n" * 9)
    (tmp_path / "one.csv").write_text("a,b\n")
    for name in ("image.bin", "one.csv", "missing.csv"):
        assert alter(str(tmp_path / name), tmp_path, ALTERATIONS["one of them"]) is None
