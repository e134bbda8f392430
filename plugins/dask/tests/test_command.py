"""The command with a cluster of its own, by name in the environment."""

import json
import os
import subprocess
import sys

import pytest

from dpcore.errors import InvalidInputError
from dpcore.testing import check_engine
from dpcore_dask.engine import DaskEngine

COMMAND = [sys.executable, "-c", "from dpcore.cli import app; app()", "train", "--json"]


def train(folder, schema, *options, **environment):
    (folder.parent / "schema.toml").write_text(schema.to_toml())
    asked = ["--data", f"{folder}/*.parquet", "--schema", str(folder.parent / "schema.toml")]
    done = subprocess.run(
        [*COMMAND, *asked, "--algo", "dp-gd", "--seed", "3", *options],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_cluster_for_the_time_of_a_command(folder, schema):
    reports = []
    for environment in ({}, {"DPCORE_ENGINE": "dask"}):
        status, out, told = train(folder, schema, "--threads", "1", **environment)
        assert status == 0, told
        reports.append(json.loads(out))
    for report in reports:
        del report["seconds"]
    assert reports[0] == reports[1]


def test_what_is_refused_on_the_command_line(folder, schema):
    status, out, told = train(folder, schema, "--engine", "dask", "--test-fraction", "0.1")
    assert (status, out) == (2, "") and "has no --test-fraction" in told


def test_a_check_starts_no_cluster():
    with pytest.raises(InvalidInputError, match="by processes of its own, which no check starts"):
        check_engine(DaskEngine)
