"""Runs where no package keeps ledgers: one line says what to install, before any row is read."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import dpcore
from dpcore.cli import app
from dpcore.data.schema import named_ledger
from dpcore.errors import RegistryError
from dpcore.plugin.parts import Registry
from dpcore_sklearn import PrivateLogisticRegression
from dpcore_tables.statistics import open_session

SCHEMA = """
[columns]
a = { kind = "numeric", lower = 0, upper = 10 }
y = { kind = "label", classes = ["no", "yes"] }
"""
KEYS = {
    "ledger": "table.ledger",
    "columns": {
        "a": {"kind": "numeric", "lower": 0, "upper": 10},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    },
}
UNREADABLE = np.array([["no number"]] * 4, dtype=object), np.array([0, 1, 0, 1])
TOLD = (
    "No package that keeps ledgers is installed. It is in dpcore-ledger: pip install . "
    "plugins/* in a checkout of dpcore, or its wheel."
)


@pytest.fixture(autouse=True)
def without(monkeypatch, tmp_path):
    """A folder whose file of rows cannot be read, where dpcore-ledger is not installed."""
    monkeypatch.setattr(named_ledger, "load_registry", lambda kind=None: Registry(()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,y\nno number,yes\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "named.toml").write_text(f'ledger = "table.ledger"\n{SCHEMA}')


@pytest.mark.parametrize(
    "command",
    [
        ["train", "--data", "rows.csv", "--schema", "schema.toml", "--ledger", "t.ledger"],
        ["train", "--data", "rows.csv", "--schema", "named.toml"],
        ["tune", "--data", "rows.csv", "--schema", "named.toml", "--candidates", "l2=.1,.2"],
        ["compare", "--data", "rows.csv", "--schema", "named.toml", "--algos", "dp-gd"],
        ["schema", "--check", "rows.csv", "named.toml"],
        ["schema", "--check", "rows.csv", "named.toml", "--epsilon", "1"],
    ],
)
def test_a_command_says_what_to_install(command):
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert done.stderr == f"dpcore: {TOLD}\n"


@pytest.mark.parametrize("words", [{"schema": "named.toml"}, {"schema": KEYS}])
def test_a_schema_that_names_a_ledger_is_refused(words):
    for run in (dpcore.fit, open_session):
        with pytest.raises(RegistryError, match=re.escape(TOLD)):
            run("rows.csv", **words)
    with pytest.raises(RegistryError, match=re.escape(TOLD)):
        PrivateLogisticRegression(schema=KEYS).fit(*UNREADABLE)


@pytest.mark.parametrize("from_environment", [False, True])
def test_a_ledger_that_is_named_elsewhere_is_refused(from_environment, monkeypatch):
    named = {} if from_environment else {"ledger": "t.ledger"}
    if from_environment:
        monkeypatch.setenv("DPCORE_LEDGER", "t.ledger")
    for run in (dpcore.fit, open_session):
        with pytest.raises(RegistryError, match=re.escape(TOLD)):
            run(*UNREADABLE, classes=(0, 1), **named)
    with pytest.raises(RegistryError, match=re.escape(TOLD)):
        PrivateLogisticRegression(**named).fit(*UNREADABLE)


def test_a_run_without_a_ledger_needs_none():
    model = dpcore.fit([[0.1], [0.9]] * 50, [0, 1] * 50, classes=(0, 1), epsilon=1.0, algo="dp-gd")
    assert "ledger" not in model.privacy
