"""A run of tests is held to its budget of CPU seconds, and begins with the most telling ones."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cpu_times
import pytest

ROOT = Path(__file__).parents[1]
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


def taking(times):
    """Return the totals of a run whose tests took these CPU seconds."""
    totals = cpu_times.CpuTimes(budget=1e9)
    for test, taken in times.items():
        properties = [("cpu", taken)]
        totals.pytest_runtest_logreport(
            SimpleNamespace(when="teardown", nodeid=test, user_properties=properties)
        )
    return totals


def test_a_new_plugin_is_held_to_a_budget_of_its_own():
    earlier = {"plugins/dask/tests/test_it.py::test_it": 100.0, "tests/cli/test_it.py::test_it": 99}
    new = {"plugins/new/tests/test_a.py::test_a": 12.4}
    assert taking(earlier | new).exceeded == []
    new["plugins/new/tests/test_b.py::test_b"] = 0.2
    (told,) = taking(earlier | new).exceeded
    assert told.startswith("A new plugin, plugins/new, took 12.60, more than a quarter above")
    assert all((ROOT / plugin).is_dir() for plugin in cpu_times.FIRST_PLUGINS)


@pytest.mark.parametrize("worker", [None, "gw0", "gw1"])
def test_the_most_telling_tests_come_first_all_others_in_their_order(pytestconfig, worker):
    conftest = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    assert [place for place in conftest.FIRST if not (ROOT / place).exists()] == []
    names = ["tests/data/test_a.py::b", "tests/fitting/test_a.py::a", "tests/data/test_a.py::a"]
    names += ["tests/golden/test_golden.py::a", "plugins/dask/tests/golden/test_a.py::a"]
    items = [
        SimpleNamespace(nodeid=name, name=name, get_closest_marker=lambda mark: None)
        for name in names
    ]
    kinds, args = pytestconfig.ArgsSource, ["tests", "plugins"]
    config = SimpleNamespace(args_source=kinds.TESTPATHS, ArgsSource=kinds, args=args)
    if worker is not None:
        config.workerinput = {"workerid": worker}
    if conftest.collects_backwards(config):  # and so has them the other way round
        args.reverse()
        items = items[4:] + items[:4]
    assert conftest.collects_backwards(config) == (worker == "gw1")
    conftest.pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == [names[at] for at in (3, 1, 0, 2, 4)]
