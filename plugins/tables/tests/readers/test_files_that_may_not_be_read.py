"""Files that this user may not read, or of altered bytes: a line, nothing charged, no store."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from canaries import WORD, leaks_of, raised_by

import dpcore
from dpcore import Schema, Weights
from dpcore.errors import DpcoreError
from dpcore_ledger import TableLedger, Terms
from dpcore_tables.store import convert

SCHEMA = Schema.from_toml("""[columns]
id = { kind = "drop" }
age = { kind = "numeric", lower = 0, upper = 90 }
w = { kind = "drop" }
paid = { kind = "label", classes = [0, 1] }
""")
UNITS = SCHEMA.with_units("id", 2)
FRAME = pd.DataFrame({"id": [k // 2 for k in range(60)], "age": [20.0 + k for k in range(60)]})
FRAME = FRAME.assign(w=FRAME["age"] / 40, paid=[k % 2 for k in range(60)])
NOBODY = 65534


def text(path):
    FRAME.to_csv(path / "rows.csv", index=False)
    return path / "rows.csv"


def parquet(path):
    FRAME.to_parquet(path / "rows.parquet")
    return path / "rows.parquet"


def excel(path):
    book = openpyxl.Workbook()
    for row in [[*FRAME], *FRAME.itertuples(index=False)]:
        book.active.append([*row])
    book.save(path / "rows.xlsx")
    return path / "rows.xlsx"


def store(path):
    convert(text(path), path / "rows.dpcore", SCHEMA)
    return path / "rows.dpcore"


def store_of_units(path):
    convert(text(path), path / "rows.dpcore", UNITS)
    return path / "rows.dpcore"


@pytest.fixture
def folder():
    """A folder that everybody may enter, as pytest's own may not be, with an empty ledger."""
    path = Path(tempfile.mkdtemp(prefix="dpcore-locked-"))
    path.chmod(0o777)
    TableLedger.create(str(path / "table.ledger"), Terms.of(9.0, 1e-6)).close()
    (path / "table.ledger").chmod(0o666)
    yield path
    shutil.rmtree(path)


@contextmanager
def locked(file):
    """Take away the right to read a file: from root by its being another user meanwhile."""
    file.chmod(0o000)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        file.chmod(0o600)


def acts_on(file, folder, **more):
    """Return a fit and, but of stores and with weights, a conversion."""
    schema = None if file.suffix == ".dpcore" else SCHEMA
    words = {"epsilon": 1.0, "delta": 1e-6, "ledger": str(folder / "table.ledger"), **more}
    acts = [lambda: dpcore.fit(str(file), schema=schema, **words)]
    if schema is not None and not more:
        acts.append(lambda: convert(str(file), folder / "new.dpcore", SCHEMA))
    return acts


def held(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def require_line(error):
    assert isinstance(error, DpcoreError) and "\n" not in str(error), error
    assert WORD not in str(error) and leaks_of(error) == [], error


WEIGHED = {"sample_weight": Weights("w", bound=2.0)}
SOURCES = [(excel, {}), (text, WEIGHED), (parquet, WEIGHED), (store, {}), (store_of_units, {})]


@pytest.mark.skipif(os.name != "posix", reason="rights of files are others elsewhere")
@pytest.mark.parametrize(("write", "more"), SOURCES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_file_that_may_not_be_read_is_said_to_be(folder, write, more):
    file = write(folder)
    acts, before = acts_on(file, folder, **more), held(folder)
    for act in acts:  # What is imported for it is so before the user is another.
        act()
    (folder / "new.dpcore").unlink(missing_ok=True)
    (folder / "table.ledger").write_bytes(before["table.ledger"])
    for act in acts:
        with locked(file):
            error = raised_by(act)
        require_line(error)
        assert "rmission denied" in str(error) or "may not be read" in str(error), error
        assert held(folder) == before


@pytest.mark.some_fast
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("write", [text, parquet], ids=lambda write: write.__name__)
def test_a_mutated_file_of_weights_is_fitted_or_refused_before_a_charge(folder, write, seed):
    file, rng = write(folder), np.random.default_rng(seed)
    content = bytearray(file.read_bytes())
    for place in rng.integers(0, len(content), 1 + seed):
        content[place] = rng.integers(256)
    file.write_bytes(content)
    before = held(folder)
    (act,) = acts_on(file, folder, **WEIGHED)
    error = raised_by(act)
    if error is None:
        assert held(folder)["table.ledger"] != before["table.ledger"]
    else:
        require_line(error)
        assert held(folder) == before
