"""A run of tests is held to its budget of CPU seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import hashlib
import pytest

@pytest.fixture
def late():
    yield
    [hashlib.sha256(bytes(10**6)).digest() for _ in range(500)]

def test_long(late):
    pass

def test_short():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 2])
@pytest.mark.parametrize(("budget", "status"), [("0.05", 1), ("1000", 0)])
def test_a_run_beyond_its_budget_fails_and_tells_its_slowest_test(
    tmp_path, budget, status, processes
):
    (tmp_path / "test_it.py").write_text(TESTS)
    environment = {
        **{name: value for name, value in os.environ.items() if "PYTEST" not in name},
        "DPCORE_TESTS_CPU_SECONDS": budget,
        "PYTHONPATH": str(Path(__file__).parent),
    }
    options = ["-p", "cpu_times", "-c", os.devnull, "--rootdir", ".", "-n", str(processes)]
    command = [sys.executable, "-m", "pytest", "-q", *options, "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert ("a quarter above the budget of 0.05" in done.stdout) == status
    if status:
        slowest = done.stdout.split("to collect and to import")[1].splitlines()[2]
        assert slowest.endswith("test_it.py::test_long") and float(slowest.split()[0]) > 0
