"""Standard streams that the caller closed."""

import logging
import os
import subprocess
import sys
from typing import Annotated

import pytest

from dpcore.cli.commands import _stated
from dpcore.cli.terminal.streams import hush
from dpcore.plugin.commands import Option

OPENS = """
import os, sys
from dpcore.cli.terminal.streams import open_closed_streams
open_closed_streams()
print(sys.stderr.isatty(), file=sys.stderr)
print("not lost", file=sys.stdout)
assert os.open(os.devnull, os.O_RDONLY) > 2
assert sys.stdin.read() == ""
"""


def closing(*numbers):
    return lambda: [os.close(number) for number in numbers]


@pytest.mark.parametrize("numbers", [(), (0,), (1,), (2,), (0, 1, 2)])
def test_a_closed_stream_is_opened_to_nowhere(numbers):
    # The first file that was opened took the number of the stream, and sys.stderr was None.
    done = subprocess.run(
        [sys.executable, "-c", OPENS],
        preexec_fn=closing(*numbers),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stdout == ("" if 1 in numbers else "not lost\n")
    assert done.stderr == ("" if 2 in numbers else "False\n")


@pytest.mark.some_fast
@pytest.mark.parametrize("numbers", [(2,), (1, 2)])
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("train", "--algo", "majority", "--out", "made"), marks=pytest.mark.slow),
        ("convert", "rows.csv", "made.dpcore", "--schema", "schema.toml"),
        pytest.param(
            ("compare", "--algos", "majority", "--folds", "2", "--out", "made.parquet"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_with_closed_streams_makes_its_file(folder, numbers, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "dpcore", *arguments],
        preexec_fn=closing(*numbers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert done.returncode == 0
    assert list(folder.glob("made*"))


@pytest.mark.parametrize("quiet", [True, False])
def test_any_command_that_is_quiet_keeps_the_warnings_of_the_library_to_itself(caplog, quiet):
    def command(quiet: Annotated[bool, Option("--quiet")] = False) -> None:
        logging.getLogger("dpcore").warning("a warning")

    _stated(command)(quiet=quiet)
    hush(False)
    assert len(caplog.records) == (not quiet)


def test_quiet_keeps_the_warnings_of_the_library_to_itself(caplog):
    logger = logging.getLogger("dpcore")
    for quiet in (True, False):
        hush(quiet)
        logger.warning("told unless quiet=%s", quiet)
    assert [record.getMessage() for record in caplog.records] == ["told unless quiet=False"]
