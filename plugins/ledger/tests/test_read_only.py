"""A ledger in a folder that cannot be written to is read, and nothing that it holds is left out."""

import shutil
import sqlite3
import subprocess
import sys

import pytest
from test_table_ledger import STATED, a_run

IN_A_PLACE_OF_ITS_OWN = ("unshare", "--map-root-user", "--mount", "sh", "-ec")
MOUNTED = 'mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"; cd "$1"; shift; exec "$@"'


def mounted(folder, *command):
    """Run a command in a folder that is mounted read-only for it alone."""
    command = (*IN_A_PLACE_OF_ITS_OWN, MOUNTED, "sh", str(folder), *command)
    try:
        return subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare")


def dpcore(folder, *arguments):
    """Run the command line in such a folder."""
    return mounted(folder, sys.executable, "-m", "dpcore", "ledger", *arguments)


@pytest.fixture
def folder(file_ledger, tmp_path):
    """A folder with a ledger of one run; skipped where none can be mounted read-only."""
    if mounted(tmp_path, "test", "!", "-w", ".").returncode:
        pytest.skip("no folder can be mounted read-only here")
    file_ledger.reserve(a_run(0.1), STATED).close("finished")
    file_ledger.close()
    return tmp_path


@pytest.mark.slow
def test_a_ledger_on_a_read_only_mount_is_shown_and_verified(folder):
    before = sorted(folder.iterdir())
    shown = dpcore(folder, "show", "table.ledger")
    assert shown.returncode == 0 and "finished" in shown.stdout, shown.stderr
    assert dpcore(folder, "show", "table.ledger", "--json").returncode == 0
    verified = dpcore(folder, "verify", "table.ledger")
    assert "none altered" in verified.stdout, verified.stderr
    charged = dpcore(folder, "raise", "table.ledger", "--epsilon", "1")
    assert charged.returncode == 2 and "cannot be written" in charged.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_what_is_in_its_log_alone_is_shown_too(folder, file_ledger):
    someone = sqlite3.connect(file_ledger.path)  # The last who closes the file empties the log.
    someone.execute("SELECT * FROM entry").fetchone()
    file_ledger.reserve(a_run(0.2), STATED)
    log = folder / "table.ledger-wal"
    assert log.stat().st_size > 0
    shown = dpcore(folder, "show", "table.ledger")
    assert shown.returncode == 0 and "open" in shown.stdout, shown.stderr
    assert "Open, and counted for all that was charged" in shown.stdout
    # Without the file of locks SQLite would read the ledger as it was before the log.
    copy = folder / "copy"
    copy.mkdir()
    for name in ("table.ledger", log.name):
        shutil.copy(folder / name, copy)
    someone.close()
    refused = dpcore(copy, "show", "table.ledger")
    assert refused.returncode == 2 and "copy both there" in refused.stderr
    assert refused.stdout == ""
