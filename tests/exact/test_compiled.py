"""Kernels need a place on disk for the next process only, and only whole files are loaded."""

import errno
import importlib.util
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from dpcore.exact import compiled as kernels

TRAINS = """
import sys
from dpcore.cli import main
sys.argv = ["dpcore", "train", "--algo", "majority", *sys.argv[1:]]
main()
"""
SOURCE = """
from {module} import njit

@njit(cache=True, error_model="numpy")
def doubled(x, out):
    for i in range(x.shape[0]):
        out[i] = 2.0 * x[i]
"""
OURS = SOURCE.format(module="dpcore.exact.compiled")


@pytest.fixture
def cached(tmp_path, monkeypatch, caplog):
    """Load a module of one kernel anew, with a cache of its own."""
    if "NUMBA_DISABLE_JIT" in os.environ:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "_TOLD", [])
    # A module of one time and size would come from its byte code.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    caplog.set_level(logging.WARNING, "dpcore")
    source = tmp_path / "one_kernel.py"

    def load(text=OURS):
        source.write_text(text)
        os.utime(source, (1e9, 1e9))
        kernels.source_digest.cache_clear()
        spec = importlib.util.spec_from_file_location("one_kernel", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.doubled

    return load


def run(kernel):
    out = np.zeros(3)
    kernel(np.arange(3.0), out)
    return out.tolist()


def files(tmp_path):
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def truncate(content):
    return content[: len(content) // 2]


def flip(content):
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


DAMAGE = [truncate, flip, lambda content: b"", lambda content: pickle.dumps({})]


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE, ids=["truncated", "flipped", "empty", "other"])
def test_a_damaged_kernel_is_named_and_replaced(cached, tmp_path, caplog, damage):
    # It was unpickled as it stood: EOFError after the charge, or a segmentation fault.
    assert run(cached()) == [0.0, 2.0, 4.0]
    (path,) = files(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    kernel = cached()
    assert run(kernel) == [0.0, 2.0, 4.0] and not kernel.stats.cache_hits
    (told,) = [record.getMessage() for record in caplog.records]
    assert str(path) in told and "it is compiled anew and replaced" in told
    assert files(tmp_path) == [path]
    again = cached()
    assert run(again) == [0.0, 2.0, 4.0] and again.stats.cache_hits


def test_numba_alone_does_fail_on_a_truncated_kernel(cached, tmp_path):
    text = SOURCE.format(module="numba")
    assert run(cached(text)) == [0.0, 2.0, 4.0]
    for path in files(tmp_path):
        path.write_bytes(truncate(path.read_bytes()))
    with pytest.raises((EOFError, pickle.UnpicklingError)):
        run(cached(text))


def test_a_kernel_of_other_source_is_not_loaded(cached, tmp_path, caplog):
    # Of one time and size: all that older numba looks at.
    assert run(cached()) == [0.0, 2.0, 4.0]
    changed = cached(OURS.replace("2.0", "3.0"))
    assert run(changed) == [0.0, 3.0, 6.0] and not changed.stats.cache_hits
    assert caplog.records == [] and len(files(tmp_path)) == 1


def test_a_full_disk_is_told_once_and_done_without(cached, tmp_path, caplog, monkeypatch):
    def full(path, content):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert run(cached()) == run(cached()) == [0.0, 2.0, 4.0]
    (told,) = [record.getMessage() for record in caplog.records]
    assert "cannot be written: " in told and "one_kernel.doubled" in told
    assert told.endswith(": No space left on device. Kernels are compiled in memory.")
    assert files(tmp_path) == []


def test_a_cache_that_cannot_be_read_is_told_once_and_done_without(cached, tmp_path, caplog):
    assert run(cached()) == [0.0, 2.0, 4.0]
    (path,) = files(tmp_path)
    path.unlink()
    path.mkdir()
    assert run(cached()) == [0.0, 2.0, 4.0]
    (told,) = [record.getMessage() for record in caplog.records]
    assert "cannot be read: " in told and str(path) in told


def test_a_flushed_kernel_leaves_no_file(cached, tmp_path):
    kernel = cached()
    assert run(kernel) == [0.0, 2.0, 4.0] and len(files(tmp_path)) == 1
    kernel._cache.flush()
    assert files(tmp_path) == []


LOADED = """
import sys
import numba
import numpy as np
from one_kernel import doubled

out = np.zeros(3)
doubled(np.arange(3.0), out)
print(out.tolist(), len(doubled.stats.cache_hits), "numba.np.arraymath" in sys.modules)

@numba.njit
def total(x, out):
    doubled(x, out)
    return np.min(out) + np.sum(out)

print(total(np.arange(1.0, 4.0), out))
"""


@pytest.mark.slow
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_a_cached_kernel_is_loaded_without_the_compiler(tmp_path):
    # numba alone imports all that it compiles with, SciPy's linear algebra included: a quarter of
    # a second of every command. What is compiled afterwards, from a loaded kernel too, is right.
    (tmp_path / "one_kernel.py").write_text(OURS)
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    seen = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", LOADED], env=os.environ | places, capture_output=True, text=True
        )
        assert done.stderr == ""
        seen.append(done.stdout.splitlines())
    assert seen[0] == ["[0.0, 2.0, 4.0] 0 True", "14.0"]
    assert seen[1] == ["[0.0, 2.0, 4.0] 1 False", "14.0"]


def train(environment, *arguments):
    """Return how a run ended, with what it said beside its progress: how far it is, it says where
    it takes its time, as to compile all kernels on a busy machine."""
    command = [sys.executable, "-c", TRAINS, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    lines = done.stderr.splitlines(keepends=True)
    done.stderr = "".join(line for line in lines if not line.startswith("dpcore: fitting:"))
    return done


@pytest.mark.slow
def test_a_fit_on_a_damaged_cache_says_so_in_one_line(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert train(environment).stderr == ""
    paths = sorted(files(tmp_path))
    assert len(paths) > 2
    for path in paths[:3]:
        path.write_bytes(truncate(path.read_bytes()))
    done = train(environment)
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("dpcore: warning: the cached kernel ")
    assert sorted(files(tmp_path)) == paths
    paths[0].write_bytes(truncate(paths[0].read_bytes()))
    done = train(environment, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"), reason="numba looks in other places too"
)
def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    nowhere = {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "NUMBA_CACHE_DIR": os.path.join(os.devnull, "cache"),
        "TMPDIR": str(tmp_path),
    }
    alone = "from numba import njit\n@njit(cache=True)\ndef f(x):\n    return x\n"
    command = [sys.executable, "-c", alone]
    done = subprocess.run(command, env=os.environ | nowhere, capture_output=True, text=True)
    assert "no locator available" in done.stderr
    done = train(nowhere)
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1
    assert "no folder for cached kernels can be written" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_a_caller_s_fast_math_is_not_that_of_a_kernel():
    # A clip that was compiled for a caller with it took NaN for a number, and was kept so.
    def is_nan(x):
        return x != x

    found = []
    for kernel in (kernels.njit()(is_nan), numba.njit()(is_nan)):

        @numba.njit(fastmath=True)
        def caller(x, kernel=kernel):
            return kernel(x)

        found.append(caller(np.nan))
    assert found == [True, False]  # the other is numba's own
