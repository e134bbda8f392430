"""The start of the command line: what a command imports, and what the collector of cycles does."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpcore import cli
from dpcore.cli.train import modules_for_good
from dpcore.plugin.parts import load_registry

OF_COMMANDS = {
    "dpcore_accounting",
    "dpcore_lab",
    "dpcore_ledger",
    "dpcore_report",
    "dpcore_tables",
    "dpcore_tuning",
}
"""Packages of ours that register commands."""
STUB = Path(__file__).parents[1] / "stub_plugin"
SCRIPT = """
import sys
sys.argv = ["dpcore", *{arguments}]
from dpcore.cli import main
from dpcore.registry.catalogue import core_registry
try:
    main()
except SystemExit:
    pass
files = {{entry.target.partition(":")[0] for entry in core_registry().entries("command")}}
print("loaded:", *sorted(files & set(sys.modules)))
print("plugins:", *(name for name in sys.modules if name.startswith("dpcore_")))
"""


def started(*arguments):
    """Return which of the commands' files one run of the command line imports, and its output."""
    output, loaded, _ = ran(*arguments)
    return loaded, output


def ran(*arguments):
    """Return the output of the command line, which of the commands' files it imports, and which
    modules of plugins, the stub's among those that are installed."""
    command = [sys.executable, "-c", SCRIPT.format(arguments=list(arguments))]
    paths = os.pathsep.join([str(STUB), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    output, _, rest = done.stdout.rpartition("loaded:")
    loaded, _, plugins = rest.partition("plugins:")
    return output + done.stderr, set(loaded.split()), set(plugins.split())


@pytest.mark.slow
def test_a_command_imports_no_other():
    loaded, _ = started("list", "losses")
    assert loaded == {"dpcore.cli.list"}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["trian"]])
def test_the_names_of_commands_are_told_without_an_import_of_one(arguments):
    loaded, output = started(*arguments)
    assert loaded == set() and "train" in output


@pytest.mark.some_fast
@pytest.mark.parametrize("name", load_registry("command").names("command"))
def test_a_command_says_what_it_is_summarised_as(name):
    shown = CliRunner().invoke(cli.app, [name, "--help"]).stdout
    assert shown.startswith(f"Usage: dpcore {name}")
    summary = load_registry("command").get("command", name).summary.split()
    assert " ".join(summary[:5]) in " ".join(shown.split())


@pytest.mark.slow
def test_a_command_imports_no_plugin_that_it_does_not_need(train, folder):
    """The module of every entry point had been imported: code of all plugins ran in predict."""
    assert train("--out", "m.json").exit_code == 0
    for arguments in (
        ("predict", "m.json", "--data", "rows.csv"),
        ("predict", "m.json", "--data", "no-such-file.csv"),
        ("info", "m.json"),
    ):
        found = {name.partition(".")[0] for name in ran(*arguments)[2]}
        # Of ours, which say that they read files and print tables.
        assert found <= {"dpcore_accounting", "dpcore_tables"}, arguments
    found = {name for name in ran("summary", "m.json")[2] if "." not in name}
    assert found == {"dpcore_stub", *OF_COMMANDS}
    # The stub does not say that it registers no accountants; others of ours do.
    for arguments in ((), ("--rho", ".1"), ("--rounds", "9", "--probability", ".1")):
        found = ran("account", *arguments)[2]
        assert {name for name in found if "." not in name} == {
            *("dpcore_stub", "dpcore_a_ddp", "dpcore_baselines"),
            *OF_COMMANDS,  # of which one has the command
        }, arguments
    # A name that can be a plugin's is looked for among all that may register it.
    assert "dpcore_stub" in ran("predict", "m.json", "--data", "stub-rows")[2]
    assert {"dpcore_stub", "dpcore_dask", "dpcore_dp_agd"} <= ran("list")[2]


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
