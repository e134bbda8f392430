"""Processes that end with their parent, and are told of one thread before anything is loaded."""

import os
import signal
import subprocess
import sys
import time

import pytest
from threads_at_first import note

from dpcore_tables.spawned import ONE_THREAD, spawned

PARENT = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dpcore_tables.spawned import spawned

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    twin = nullcontext(ProcessPoolExecutor(1, context))
    with twin if sys.argv[1] == "plain" else spawned(1, os.getpid) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""


def is_there(process):
    """Whether a process runs; one that ended may wait for whoever inherited it."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True)
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


@pytest.mark.skipif(os.name != "posix", reason="ps and signals are POSIX's")
@pytest.mark.parametrize("kind", ["spawned", "plain"])
def test_a_process_ends_when_its_parent_is_killed(tmp_path, kind):
    (tmp_path / "parent.py").write_text(PARENT)
    asked = [sys.executable, str(tmp_path / "parent.py"), kind]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + (30 if kind == "spawned" else 1)
    while is_there(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    # The plain pool is the control: its process waits at a queue for ever.
    assert is_there(child) == (kind == "plain")
    if kind == "plain":
        os.kill(child, signal.SIGKILL)


def test_a_process_is_told_of_one_thread_first(tmp_path, monkeypatch):
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "2")
    with spawned(1, note, str(tmp_path), ONE_THREAD) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
    assert (tmp_path / "told").read_text() == "1 1 1 1 1"
