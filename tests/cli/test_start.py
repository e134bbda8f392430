"""The start of the command line: what a command imports, and what the collector of cycles does."""

import gc
import subprocess
import sys
import weakref

import pytest
from typer.testing import CliRunner

from dpcore import cli
from dpcore.cli.modules import modules_for_good

SCRIPT = """
import sys
sys.argv = ["dpcore", *{arguments}]
from dpcore.cli import _COMMANDS, main
try:
    main()
except SystemExit:
    pass
files = {{"dpcore.cli." + where.partition(":")[0] for where in _COMMANDS.values()}}
print("loaded:", *sorted(files & set(sys.modules)))
"""


def started(*arguments):
    """Return which of the commands' files one run of the command line imports, and its output."""
    command = [sys.executable, "-c", SCRIPT.format(arguments=list(arguments))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    output, _, loaded = done.stdout.rpartition("loaded:")
    return set(loaded.split()), output + done.stderr


def test_a_command_imports_no_other():
    loaded, _ = started("list", "losses")
    assert loaded == {"dpcore.cli.list"}


@pytest.mark.parametrize("arguments", [["--help"], ["trian"]])
def test_where_no_command_is_named_all_are_there(arguments):
    loaded, output = started(*arguments)
    assert {"dpcore.cli.train", "dpcore.cli.ledger"} <= loaded
    assert "train" in output


@pytest.mark.parametrize("name", cli._COMMANDS)
def test_a_command_alone_has_the_help_that_it_has_beside_the_others(name):
    apps = cli._app_of([name]), cli.app
    alone, whole = (CliRunner().invoke(app, [name, "--help"]) for app in apps)
    assert alone.exit_code == whole.exit_code == 0
    assert alone.stdout == whole.stdout
    assert f"Usage: dpcore {name}" in alone.stdout


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_after_imports(enabled):
    class Cycle:
        def __init__(self):
            self.own = self

    (gc.enable if enabled else gc.disable)()
    try:
        with modules_for_good():
            assert not gc.isenabled()
            before = Cycle()
        assert gc.isenabled() is enabled and gc.get_freeze_count() > 0
        kept, freed = weakref.ref(before), weakref.ref(Cycle())
        del before
        gc.collect()
        # What was there is not looked at again; what is made later is collected.
        assert kept() is not None and freed() is None
    finally:
        gc.unfreeze()
        gc.enable()
