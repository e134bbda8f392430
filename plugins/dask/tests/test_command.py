"""The command with a cluster of its own, by name in the environment."""

import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from golden.command import dpcore as dpcore_says

import dpcore
from dpcore import Schema, load_model
from dpcore.errors import EngineError, InvalidInputError
from dpcore_dask.engine import DaskEngine
from dpcore_lab.checks import check_engine
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.runner import run
from dpcore_lab.compare.settings import Comparison

COMMAND = [sys.executable, "-c", "from dpcore.cli import app; app()", "train", "--json"]


def train(folder, schema, *options, **environment):
    """Return what a command ends with and prints: as a process if it is given an environment, as a
    cluster of its own has to be."""
    (folder.parent / "schema.toml").write_text(schema.to_toml())
    asked = ["--data", f"{folder}/*.parquet", "--schema", str(folder.parent / "schema.toml")]
    asked += ["--algo", "dp-gd", "--seed", "3", *options]
    if not environment:
        said = dpcore_says(shlex.join(["dpcore", "train", "--json", *asked]))
        return said.status, said.out, said.err
    done = subprocess.run(
        [*COMMAND, *asked],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_cluster_for_the_time_of_a_command(folder, schema):
    reports, asked = [], ("--threads", "1", "--test", str(folder / "2.parquet"))
    asked += ("--set", "steps=4")
    for environment in ({}, {"DPCORE_ENGINE": "dask"}):
        status, out, told = train(folder, schema, *asked, **environment)
        assert status == 0, told
        reports.append(json.loads(out))
    for report in reports:
        del report["seconds"]
    # Rows trained on elsewhere have no metric.
    assert reports[0]["diagnostics"].pop("train_loss") > 0
    assert reports[0] == reports[1] and reports[0]["diagnostics"]["test_loss"] > 0


@pytest.mark.slow
def test_predictions_of_a_number_are_held_to_its_bounds_on_a_cluster_alike(tmp_path, cluster):
    place = tmp_path / "rows"
    place.mkdir()
    x = np.random.default_rng(1).uniform(0, 1, 4000)
    for i, part in enumerate(np.split(x, 2)):
        pd.DataFrame({"x": part, "y": 40 * part - 10}).to_parquet(place / f"{i}.parquet")
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 1}}
    label = {"y": {"kind": "label", "lower": 0, "upper": 20}}
    schema, reports = Schema.from_dict({"rows": 4000, "columns": columns | label}), []
    options = "--threads", "1", "--test", str(place / "1.parquet"), "--epsilon", "20"
    options += ("--set", "steps=30")
    for engine in ("local", f"dask:{cluster.scheduler_address}"):
        out = tmp_path / f"{len(reports)}.json"
        asked = [*options, "--engine", engine, "--out", str(out)]
        status, printed, told = train(place, schema, *asked)
        assert status == 0, told
        reports.append(json.loads(printed)["diagnostics"])
        said = load_model(out).predict(pd.DataFrame({"x": x[2000:]}))
        assert said.min() >= 0 and said.max() == 20
        truth = np.clip(40 * x[2000:] - 10, 0, 20)
        assert reports[-1]["test_rmse"] == pytest.approx(np.mean((said - truth) ** 2) ** 0.5)
    assert reports[0].pop("train_rmse") > 0 and reports[0] == reports[1]


@pytest.mark.slow
def test_what_is_refused_on_the_command_line(folder, schema):
    status, out, told = train(folder, schema, "--engine", "dask", "--test-fraction", "0.1")
    assert (status, out) == (2, "") and "has no --test-fraction" in told


@pytest.mark.slow
def test_fits_of_a_comparison_are_tasks(cluster, parts, schema, tmp_path):
    whole, by = tmp_path / "rows.parquet", tmp_path / "schema.toml"
    parts[0].to_parquet(whole)
    by.write_text(schema.to_toml())
    asked = Comparison(("dp-gd", "dp-agd"), (str(whole),), (1.0,), folds=2, schema=str(by), seed=5)
    comparison, _ = admit(asked)
    here = run(comparison, None)
    there = run(comparison, tmp_path / "r.parquet", engine=f"dask:{cluster.scheduler_address}")
    assert untimed(there) == untimed(here)
    assert {row["status"] for row in there.rows} == {"fitted"}


def test_a_comparison_without_a_scheduler_is_refused():
    comparison, _ = admit(Comparison(("dp-gd",), ("census-sim",), (1.0,), folds=2))
    with pytest.raises(InvalidInputError, match="No Dask scheduler answers at tcp://127.0.0.1:9"):
        run(comparison, None, engine="dask:tcp://127.0.0.1:9")


def untimed(results):
    return [{k: v for k, v in row.items() if k != "exact_seconds"} for row in results.rows]


def test_a_check_starts_no_cluster():
    with pytest.raises(InvalidInputError, match="by processes of its own, which no check starts"):
        check_engine(DaskEngine)


def test_a_script_that_its_workers_import_is_told_how_to_call_fit(monkeypatch, folder, schema):
    pytest.importorskip("cryptography", reason="needs the extra dpcore-dask[cluster]")

    # As in a script without the usual guard: each worker, and it alone, would start others.
    def starts(**asked):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", starts)
    with pytest.raises(EngineError, match="call fit under if __name__ == .__main__.:"):
        dpcore.fit(folder, schema=schema, engine="dask")
