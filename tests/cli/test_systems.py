"""A system on which nothing runs is told in one line, before anything is read."""

import subprocess
import sys

import pytest

AS_ON_WINDOWS = "import os; os.name = 'nt'; import dpcore, sys; os.name = 'posix'; "


@pytest.mark.parametrize("command", [["train", "--quiet"], ["list"], []])
def test_a_command_is_refused_in_one_line(command):
    code = f"{AS_ON_WINDOWS} import dpcore.cli; sys.argv[1:] = {command}; dpcore.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("dpcore: dpcore runs on Linux and macOS") and "Subsystem" in line


@pytest.mark.parametrize(
    "code", ["dpcore.fit", "import dpcore_sklearn", "from dpcore.plugin import Problem"]
)
def test_so_is_a_public_name(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{AS_ON_WINDOWS} {code}"], capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1].startswith("ImportError: dpcore runs on Linux and macOS")
