import contextlib
import gc
import logging
import os
import sys
import zlib
from pathlib import Path

import pytest

# Each process of the tests has a processor: a second thread of OpenBLAS waits for the next product
# by turning round and round, which took ten times as long as SciPy's steps themselves.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
_ROOT = Path(__file__).parent
# What is tested is the dpcore that is installed, with its plugins: "python -m pytest" would find
# the one of this folder before it.
if Path(sys.path[0] or ".").resolve() == _ROOT:
    del sys.path[0]
# The naive twins are imported by tests in several folders.
sys.path.insert(0, str(_ROOT / "tests"))


def pytest_configure(config):
    import cpu_times

    # What a user is told of a model (tests ask for it by pytest.warns) is no fault of a test. In
    # pyproject.toml it would be imported before this file is read.
    config.addinivalue_line("filterwarnings", "ignore::dpcore.errors.DpcoreWarning")
    cpu_times.pytest_configure(config)
    if collects_backwards(config):
        config.args.reverse()


def collects_backwards(config):
    """Return whether this is the second of several processes that collect all tests: it begins with
    the last folder, so that a new checkout's files are compiled by one process each."""
    worker = getattr(config, "workerinput", {}).get("workerid")
    return worker == "gw1" and config.args_source is config.ArgsSource.TESTPATHS


# What goes wrong shows here first: whole runs as they were, and rules that hold in every file.
FIRST = ["tests/golden/", "tests/test_house_rules.py", "tests/test_reach.py", "tests/fitting/"]


def pytest_ignore_collect(collection_path, config):
    """Leave out files that name no slow test where slow ones alone are run: that half of the files
    need not be imported."""
    if config.option.markexpr == "slow" and collection_path.suffix == ".py":
        text = collection_path.read_text()
        return None if "slow" in text or "some_fast" in text else True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among thousands of tests: they are kept until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        # What is there by now is old, without a look at it, and not frozen: hypothesis asks the
        # collector who holds an object. What thousands of tests keep is looked through seldom: of
        # some rooms a sixth of the time went there.
        gc.freeze()
        gc.unfreeze()
        gc.enable()
        gc.set_threshold(100_000, 1000, 10_000)


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(config, items):
    """Put the most telling tests first, all others in their order, and mark seven of eight cases
    of a test that has some_fast as slow: the same ones in every process, whatever else is run."""
    for item in items:
        if item.get_closest_marker("some_fast") and zlib.crc32(item.name.encode()) % 8:
            item.add_marker(pytest.mark.slow)
    if collects_backwards(config):
        places = {place: rank for rank, place in enumerate(reversed(config.args))}
        items.sort(key=lambda item: places[item.nodeid.partition("/")[0]])
    ranks = {place: rank for rank, place in enumerate(FIRST)}
    items.sort(
        key=lambda item: min(
            (rank for place, rank in ranks.items() if item.nodeid.startswith(place)),
            default=len(ranks),
        )
    )


@pytest.fixture(autouse=True, scope="session")
def few_seconds_on_large_tables():
    """Let the checks of sums take 3 % of their seconds on large tables: hundreds of parts are
    checked here. Three tables of up to twenty blocks, one of each make, are the fewest."""
    with pytest.MonkeyPatch.context() as patch:
        with contextlib.suppress(ImportError):  # where the package is not installed
            patch.setattr("dpcore_lab.made_tables.sums.SHARE", 0.03)
        yield


@pytest.fixture
def caplog(caplog):
    """What dpcore logs, whatever the last command of the process did to its logger (--quiet)."""
    caplog.set_level(logging.WARNING, logger="dpcore")
    return caplog


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server; skipped where there cannot be one."""
    if os.name != "posix":
        pytest.skip("the test's server needs a Unix socket")
    pytest.importorskip("psycopg", reason="psycopg is not installed: dpcore[postgresql]")
    from postgresql_server import Server

    it = Server()
    yield it
    it.stop()
