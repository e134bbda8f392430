"""Kernels need a place on disk for the next process only."""

import os
import subprocess
import sys

import numba
import pytest

TRAINS = """
import sys
from dpcore.cli import main
sys.argv = ["dpcore", "train", "--quiet", "--set", "steps=2"]
main()
"""


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

    def run(script):
        command = [sys.executable, "-c", script]
        return subprocess.run(command, env=os.environ | nowhere, capture_output=True, text=True)

    alone = run("from numba import njit\n@njit(cache=True)\ndef f(x):\n    return x\n")
    assert "no locator available" in alone.stderr
    done = run(TRAINS)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == []
