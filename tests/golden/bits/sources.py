"""Released bits of one seeded run over the same rows, from every source, and of its statistics."""

import gzip
from functools import partial
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from golden import tables
from golden.bits.released import digest
from golden.command import dpcore, outcome
from golden.normal_form import normal

from dpcore import fit, load_model
from dpcore_tables.statistics import open_session

_RUN = "dpcore train --schema hired.toml --epsilon 4 --algo dp-gd --seed 7 --quiet --out model.json"
_PLACES = ("rows.csv", "rows.csv.gz", "rows.tsv", "rows.parquet", "folder", "folder/*.parquet")


def records():
    """Return the digest of the run by source, and the numbers of the statistics by their words."""
    _write()
    found = {place: _trained(f"--data '{place}'") for place in _PLACES}
    found["standard input"] = _trained("--data -", Path("rows.csv").read_bytes())
    found["rows.dpcore"] = _trained("--data rows.dpcore", schema="")
    found["three threads"] = _trained("--data rows.csv --threads 3")
    found["bad rows dropped"] = _trained("--data bad.csv --bad-rows drop")
    for name, frame in _frames().items():
        found[name] = outcome(lambda frame=frame: digest(_fitted(frame)))
    found["a path"] = outcome(lambda: digest(_fitted("rows.parquet")))
    return {"train": found, "statistics": _statistics()}


def _write():
    tables.write()
    rows = tables.csv()
    Path("rows.csv.gz").write_bytes(gzip.compress(rows.encode()))
    Path("rows.tsv").write_text(rows.replace(",", "\t"))
    Path("bad.csv").write_text(f"{rows}p1,old,0,Bern,no,a,5\n")
    table = pa.csv.read_csv("rows.csv")
    pq.write_table(table, "rows.parquet")
    Path("folder").mkdir()
    pq.write_table(table[:100], "folder/a.parquet")
    pq.write_table(table[100:], "folder/b.parquet", row_group_size=50)
    assert dpcore("dpcore convert rows.csv rows.dpcore --schema hired.toml --quiet").status == 0


def _trained(options, stdin=b"", schema=None):
    line = f"{_RUN} {options}"
    said = dpcore(line.replace("--schema hired.toml", "") if schema == "" else line, stdin)
    return said.err.strip() if said.status else digest(load_model("model.json"))


def _frames():
    frame = pd.DataFrame(tables.visits())
    return {
        "pandas": frame,
        "pandas, as text": frame.astype(str),
        "pyarrow": pa.Table.from_pandas(frame),
        "polars": pl.from_pandas(frame),
    }


_fitted = partial(fit, schema="hired.toml", epsilon=4.0, algo="dp-gd", seed=7)


def _statistics():
    """Return what a seeded session releases, to ten digits."""
    asked = {
        "count": lambda of: of.count(share=0.05),
        "histogram of levels": lambda of: of.histogram("city", share=0.05),
        "histogram of numbers": lambda of: of.histogram("age", edges=[0, 30, 100], share=0.05),
        "sum": lambda of: of.sum("age", share=0.05),
        "mean": lambda of: of.mean("age", "height", share=0.05),
        "covariance": lambda of: of.covariance("age", "height", share=0.1),
        "quantiles": lambda of: of.quantiles("age", [0.25, 0.5], share=0.1),
    }
    found = {}
    for accountant in ("zcdp", "pure"):
        session = open_session(
            "rows.csv", schema="hired.toml", epsilon=4.0, accountant=accountant, seed=3
        )
        with session:
            for name, ask in asked.items():
                found[f"{accountant}: {name}"] = _plain(ask(session))
            for level, part in session.parts("city").items():
                found[f"{accountant}: mean of {level}"] = _plain(part.mean("age", share=0.2))
    return found


def _plain(value):
    return normal(str(value.tolist() if hasattr(value, "tolist") else value))
