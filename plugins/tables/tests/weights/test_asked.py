"""Weights of rows by the command line: a column of a file, and its public bound."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from golden.command import dpcore as command

import dpcore
from dpcore import Weights
from dpcore.errors import BadRowError, DpcoreError, InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.commands import DataRequest
from dpcore_tables.files import FILES
from dpcore_tables.files.requested import requested
from dpcore_tables.store import convert
from dpcore_tables.weights.asked import check_weight

SCHEMA = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
weight = { kind = "drop" }
paid = { kind = "label", classes = ["no", "yes"] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    cells = {"age": rng.integers(0, 90, 200), "weight": rng.integers(0, 9, 200) / 2}
    frame = pd.DataFrame(cells).assign(paid=rng.choice(["no", "yes"], 200))
    frame.to_csv("rows.csv", index=False)
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def asked(folder, weight=("weight", 2.0), **changes):
    of_file = {"data": "rows.csv", "schema": folder / "s.toml"}
    column, bound = weight
    request = DataRequest(weight=column, weight_bound=bound, **of_file | changes)
    return request.load(NeighboringRelation.ADD_OR_REMOVE_ONE, 1, 1, bytes)


def test_rows_have_the_weights_of_their_line_held_to_the_bound(folder):
    told = np.minimum(pd.read_csv("rows.csv")["weight"].to_numpy(), 2.0)
    assert asked(folder).train.weights.tolist() == told.tolist()
    assert asked(folder, weight=(None, None)).train.weights is None
    of_file = asked(folder, test="rows.csv")
    assert of_file.test.weights.tolist() == told.tolist()
    parts = asked(folder, test_fraction=0.5)
    found = [part.weights.size for part in (parts.train, parts.test)]
    assert sum(found) == 200 and min(found) > 50


REFUSED = [
    ({"weight": ("weight", None)}, "each with the other"),
    ({"weight": (None, 2.0)}, "each with the other"),
    ({"weight": ("paid", 2.0)}, "no column 'paid' of weights"),
]


@pytest.mark.parametrize(("changes", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_weights_that_cannot_be_had_are_refused(folder, changes, told):
    with pytest.raises(InvalidInputError, match=told):
        asked(folder, **changes)


def test_the_schema_need_not_list_the_column(folder):
    listed = asked(folder).train
    (folder / "s.toml").write_text(SCHEMA.replace('weight = { kind = "drop" }\n', ""))
    found = asked(folder, test="rows.csv")
    assert found.train.weights.tolist() == listed.weights.tolist() == found.test.weights.tolist()
    assert found.train.schema.feature_names == listed.schema.feature_names
    with pytest.raises(DpcoreError, match="no column 'wieght'. Did you mean 'weight'"):
        asked(folder, weight=("wieght", 2.0))


def test_weights_of_what_is_no_file_are_refused(folder):
    with pytest.raises(InvalidInputError, match="not of a registered data set"):
        asked(folder, data="census-sim", schema=None)
    with pytest.raises(InvalidInputError, match="nor with an engine that reads files"):
        check_weight(DataRequest("rows.csv", weight="w", weight_bound=1.0), is_file=False)
    convert("rows.csv", folder / "rows.dpcore", dpcore.Schema.from_toml(SCHEMA))
    store = DataRequest("rows.dpcore", weight="weight", weight_bound=1.0)
    with pytest.raises(InvalidInputError, match="has no weights 'weight' of its rows: convert"):
        requested(store, NeighboringRelation.ADD_OR_REMOVE_ONE, 1, 1, bytes)


def test_a_fit_of_a_store_says_that_its_weights_are_left_out(folder, caplog):
    # Whoever wrote a store with weights had a model without them, and not a word of it.
    schema = dpcore.Schema.from_toml(SCHEMA)
    convert("rows.csv", folder / "w.dpcore", schema, weight="weight")
    store = {"data": "w.dpcore", "schema": None}
    assert asked(folder, **store).train.weights is not None and not caplog.records
    [*FILES.pieces("w.dpcore", schema, "refuse")]  # Rows to score have no use for them.
    assert not caplog.records
    assert asked(folder, weight=(None, None), **store).train.weights is None
    (told,) = caplog.messages
    assert told.startswith("dpcore: warning: w.dpcore has weights 'weight' of its rows")
    assert "each row counts once. --weight weight --weight-bound NUMBER" in told


def test_a_cell_that_is_no_weight_is_refused_by_its_line(folder):
    lines = (folder / "rows.csv").read_text().splitlines()
    lines[4] = "30,-7,no"
    (folder / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(BadRowError, match="line 5, column 'weight'") as told:
        asked(folder)
    assert "-7" not in str(told.value)
    train = "dpcore train --data rows.csv --schema s.toml"
    said = command(f"{train} --weight weight --weight-bound 2")
    assert said.status == 2 and "line 5" in said.err and "--bad-rows drop" in said.err
    (folder / "rows.csv").write_text("\n".join(lines).replace("30,-7", "old,1"))
    assert "--bad-rows drop" in command(train).err


@pytest.mark.slow
def test_the_command_line_fits_what_the_call_fits(folder):
    train = [sys.executable, "-m", "dpcore", "train", "--data", "rows.csv", "--schema", "s.toml"]
    options = ["--weight", "weight", "--weight-bound", "2", "--epsilon", "1", "--seed", "1"]
    subprocess.run([*train, *options, "--out", "m.json", "--quiet"], check=True)
    told = json.loads((folder / "m.json").read_text())
    weights = Weights("weight", bound=2.0)
    wanted = dpcore.fit("rows.csv", schema="s.toml", epsilon=1.0, seed=1, sample_weight=weights)
    assert told["weight_bound"] == 2.0
    assert (dpcore.load_model("m.json").coef == wanted.coef).all()
    plain = dpcore.fit("rows.csv", schema="s.toml", epsilon=1.0, seed=1)
    assert (plain.coef != wanted.coef).any()
