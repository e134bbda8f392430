import os
import sys
from pathlib import Path

import pytest

# The naive twins are imported by tests in several folders.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server; skipped where there cannot be one."""
    if os.name != "posix":
        pytest.skip("the test's server needs a Unix socket")
    pytest.importorskip("psycopg", reason="psycopg is not installed: dpcore[postgresql]")
    from ledger.server import Server

    it = Server()
    yield it
    it.stop()
