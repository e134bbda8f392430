"""A small table with its schema, the stub plugin, and a runner for the command line."""

import signal
import sys
from pathlib import Path

import pytest
from command_words import overridden
from typer.testing import CliRunner

from dpcore.plugin.parts import ChargeLog, load_registry

STUB = Path(__file__).parents[1] / "stub_plugin"

SCHEMA = """
rows = 6
capacity = 1000
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
label = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = """age,city,label
10,Bern,no
20,Basel,yes
30,Bern,no
40,Genf,yes
50,Basel,yes
60,Bern,no
"""


@pytest.fixture(autouse=True)
def nothing_on_how_far(monkeypatch):
    """A line on how far a command is, every ten seconds, would be among what tests read on a slow
    machine. Tests of these lines set their own time, after this one."""
    monkeypatch.setattr("dpcore.cli.terminal.progress._LINE_SECONDS", 1e9)


@pytest.fixture(scope="module")
def stub():
    """The stub plugin, installed for the tests of a file: its distribution stands on sys.path."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(STUB))
        load_registry.cache_clear()
        yield
    load_registry.cache_clear()
    sys.modules.pop("dpcore_stub", None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with ``rows.csv`` and ``schema.toml``."""
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(stub):
    """Run the command line in this process; an unexpected exception fails the test."""

    def invoke(*arguments):
        from dpcore.cli import app

        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def train(run, folder):
    """Train the stub on the small table; further arguments override."""

    def invoke(*arguments):
        words = "--algo", "stub", "--data", "rows.csv", "--schema", "schema.toml"
        return run("train", *overridden(words, arguments))

    return invoke


@pytest.fixture
def heard():
    """Requests to end are heard, here and by processes that a test starts: under nohup, or in the
    background of a shell, a run of the tests begins with some of them ignored."""
    usual = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.SIG_DFL)
    usual[signal.SIGINT] = signal.default_int_handler
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def charged(monkeypatch):
    """Every charge of every session: a refusal has to come before the first."""
    charges = []
    charge = ChargeLog.charge

    def recorded(self, *arguments):
        charges.append(arguments)
        return charge(self, *arguments)

    monkeypatch.setattr(ChargeLog, "charge", recorded)
    yield charges
    assert charges == []
