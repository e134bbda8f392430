"""``dpcore convert``, and a store in place of a file."""

import fcntl
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Dataset
from dpcore_tables.store import open_store


@pytest.fixture
def store(run, folder):
    done = run("convert", "rows.csv", "rows.dpcore", "--schema", "schema.toml")
    assert done.exit_code == 0, done.output
    assert done.output == "Store: rows.dpcore (readable by you only)\n"
    return "rows.dpcore"


def coefficients(path):
    model = json.loads(path.read_text())
    return model["coefficients"], model["intercept"]


def test_a_store_trains_to_the_bits_of_its_file_on_any_number_of_threads(run, store, folder):
    options = ("--seed", 1, "--quiet", "--out")
    assert not run(
        "train", "--data", "rows.csv", "--schema", "schema.toml", *options, "1"
    ).exit_code
    assert not run("train", "--data", store, "--threads", 1, *options, "2").exit_code
    assert not run("train", "--data", store, "--threads", 7, *options, "3").exit_code
    first, *others = (coefficients(folder / name) for name in "123")
    assert others == [first, first]


def test_a_store_is_tested_split_and_predicted_like_a_file(run, store, folder):
    for options in (("--test", "rows.csv"), ("--test", store), ("--test-fraction", 0.5)):
        done = run("train", "--data", store, "--json", "--quiet", "--out", "m.json", *options)
        assert done.exit_code == 0 and "test_loss" in json.loads(done.stdout)["diagnostics"]
    told = run("predict", "m.json", "--data", store)
    assert told.stdout == run("predict", "m.json", "--data", "rows.csv").stdout
    assert run("schema", store).stdout.startswith("rows = 6\ncapacity = 1000\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "rows.dpcore", "--target", "age"], "not the schema's label"),
        (["--data", "rows.dpcore", "--schema", "other.toml"], "with another schema"),
        (["--data", "rows.dpcore", "--schema-from-data", "--target", "label"], "its own schema"),
        (["--data", "cut.dpcore"], "cut short or not finished"),
        (["--data", "none.dpcore"], "No such file"),
        (["--threads", "0"], "threads=0"),
        (["--threads", "99999999999999999999"], "at most 65536"),
    ],
)
def test_what_is_refused_before_anything_is_spent(run, store, folder, arguments, message):
    (folder / "cut.dpcore").write_bytes((folder / store).read_bytes()[:-1])
    text = (folder / "schema.toml").read_text()
    (folder / "other.toml").write_text(text.replace("upper = 100", "upper = 90"))
    done = run("train", *arguments, "--out", "m.json")
    assert done.exit_code == 2 and message in done.stderr and not done.stdout
    assert not os.path.exists("m.json")


def test_a_conversion_that_is_refused_leaves_nothing(run, folder):
    cases = [
        (["rows.csv", "rows.dpcore"], "needs a schema"),
        (["rows.csv", "rows.csv", "--schema", "schema.toml"], "is the file of SOURCE"),
        (["rows.csv", "rows.bin", "--schema", "schema.toml"], "to be NAME.dpcore"),
        (["none.csv", "rows.dpcore", "--schema", "schema.toml"], "No such file"),
    ]
    for arguments, message in cases:
        done = run("convert", *arguments)
        assert done.exit_code == 2 and message in done.stderr, done.output
    with (folder / "rows.csv").open("a") as file:
        file.write("old,Bern,no\n")
    done = run("convert", "rows.csv", "rows.dpcore", "--schema", "schema.toml")
    assert done.exit_code == 2 and "rows.csv, line 8, column 'age'" in done.stderr
    assert sorted(os.listdir()) == ["rows.csv", "schema.toml"]
    done = run("convert", "rows.csv", "r.dpcore", "--schema", "schema.toml", "--bad-rows", "drop")
    assert done.exit_code == 0 and "were not counted" in done.stderr
    done = run("train", "--data", "r.dpcore", "--relation", "replace-one")
    assert done.exit_code == 2 and "convert a store again" in done.stderr
    assert "were not counted" in run("train", "--data", "r.dpcore").stderr


def test_a_store_in_the_making_is_told(run, folder):
    with open(".rows.dpcore.partial", "wb") as partial:
        fcntl.flock(partial, fcntl.LOCK_EX)
        done = run("train", "--data", "rows.dpcore")
    assert done.exit_code == 2 and "being written by another process" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_conversion_that_is_told_to_end_leaves_nothing(heard, folder, ended):
    script = (
        "import os, sys\n"
        "from dpcore.cli import convert, main\n"
        "from dpcore_tables import store\n"
        "from dpcore_tables.files.read_progress import watched\n"
        "real = store.convert\n"
        "def interrupted(*arguments, **options):\n"
        f"    with watched(lambda *told: os.kill(os.getpid(), {ended})):\n"
        "        real(*arguments, **options)\n"
        "store.convert = interrupted\n"
        "sys.argv = ['dpcore', 'convert', 'rows.csv', 'r.dpcore', '--schema', 'schema.toml']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 130 and "nothing was written" in done.stderr
    assert sorted(os.listdir()) == ["rows.csv", "schema.toml"]


@pytest.fixture
def partitions(folder):
    """Return the names of the Parquet files that the rows are in."""
    rows = pd.read_csv(folder / "rows.csv")
    (folder / "parts").mkdir()
    for i in range(3):
        rows.iloc[i::3].to_parquet(folder / "parts" / f"{i}.parquet")
    return ["0.dpcore", "1.dpcore", "2.dpcore"]


@pytest.mark.slow
def test_a_folder_becomes_a_folder_of_stores(run, partitions, folder):
    asked = ("convert", "parts", "stores", "--schema", "schema.toml")
    done = run(*asked, "--jobs", 2)
    assert done.exit_code == 0, done.output
    assert done.stdout == "Stores: stores (readable by you only)\n"
    assert sorted(os.listdir(folder / "stores")) == partitions
    assert (folder / "stores").stat().st_mode & 0o777 == 0o700
    for i, name in enumerate(partitions):
        X, y, _ = open_store(folder / "stores" / name)
        whole = Dataset.from_file(
            folder / "parts" / f"{i}.parquet", Schema.read(folder / "schema.toml")
        )
        assert np.array_equal(y, whole.y) and X.shape == whole.X.shape
    done = run(*asked, "--jobs", 2)
    assert done.exit_code == 2 and "is there already" in done.output


@pytest.mark.slow
def test_no_folder_is_left_where_one_file_cannot_be_converted(run, partitions, folder):
    pd.DataFrame({"other": [1]}).to_parquet(folder / "parts" / "1.parquet")
    before = set(os.listdir(folder))
    done = run("convert", "parts", "stores", "--schema", "schema.toml", "--jobs", 1)
    assert done.exit_code and "1.parquet" in done.output
    assert set(os.listdir(folder)) == before


def test_files_of_one_name_are_refused(run, partitions, folder):
    (folder / "more").mkdir()
    os.link(folder / "parts" / "0.parquet", folder / "more" / "0.parquet")
    (folder / "parts" / "0.parquet").unlink()
    (folder / "parts" / "1.parquet").rename(folder / "parts" / "0.parquet")
    done = run("convert", "[mp]*/0.parquet", "stores", "--schema", "schema.toml", "--jobs", 1)
    assert done.exit_code == 2 and "Two of the files would be" in done.output
