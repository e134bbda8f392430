"""What ``dpcore compare`` keeps: a journal while it runs, and a file of results."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
from golden import tables
from golden.command import dpcore
from golden.normal_form import normal

_ASKED = {
    "census-sim": "--algos dp-gd,dp-agd:paper --data census-sim --epsilon .5 --l2 .1 --seed 3",
    "rows.csv": "--algos objpert,rsgd-ar --data rows.csv --schema hired.toml --epsilon 1,8",
    "three classes": "--algos dp-gd --data rows.csv --schema ward.toml --epsilon 4"
    " --multiclass ovr",
}
_MEASURES = ("exact_accuracy", "exact_macro_f1", "exact_auc", "exact_objective")


def records():
    """Return journal, results and table of each comparison. Folds of one's own file are drawn
    anew each time: of its values there are the types alone. The others are of x86-64."""
    found = {}
    tables.write()
    for name, asked in _ASKED.items():
        said, journal, results = _kept(f"dpcore compare {asked} --folds 2 --markdown")
        assert said.status == 0, said
        found |= {f"{name}: {what}": told for what, told in _told(journal, results).items()}
        if "--seed" in asked:
            found[f"{name}: printed"] = _printed(said.out)
    return found


def _kept(line):
    """Return what a command says, and the files that it keeps."""
    out, journal = Path("results.parquet"), Path("results.parquet.journal")
    # A second name of the journal outlives it: it is removed when the results are written.
    journal.touch()
    os.link(journal, "kept.journal")
    said = dpcore(f"{line} --out {out}")
    assert not journal.exists()
    kept, results = Path("kept.journal").read_text(), pq.read_table(out)
    out.unlink(), Path("kept.journal").unlink()
    return said, kept, results


def _told(journal, results):
    header, *rows = map(json.loads, journal.splitlines())
    assert len(bytes.fromhex(header.pop("key"))) == 32
    for state in header["sources"].values():
        state[1] = type(state[1]).__name__  # when the file was written
    as_kept = [dict(row) for row in results.to_pylist()]
    same = [{name: row.get(name) for name in results.column_names} for row in rows]
    metadata = {key.decode(): json.loads(text) for key, text in results.schema.metadata.items()}
    exact = header["settings"]["seed"] is not None
    if metadata["dpcore"]["settings"] == header["settings"]:
        metadata["dpcore"]["settings"] = "as in the journal"
    return {
        "journal's head": header,
        "results": {
            "columns": {field.name: str(field.type) for field in results.schema},
            "metadata": metadata,
            "rows": "as in the journal" if as_kept == same else as_kept,
        },
        **{f"row {number}": _steady(row, exact) for number, row in enumerate(rows, 1)},
    }


def _steady(row, exact):
    """Return what a row has, without seconds, versions and words of others, and, where its fold is
    drawn anew, without values."""
    row = {**row, "exact_seconds": type(row["exact_seconds"]).__name__}
    row["versions"] = sorted(json.loads(row["versions"]))
    row["message"] = row["message"].partition("L-BFGS-B:")[0]
    for name in _MEASURES:
        row[name] = _measure(row[name], exact, digits=3 if row["algorithm"] == "nonprivate" else 9)
    for name in ("parameters", "releases"):
        row[name] = json.loads(row[name])
    has = {name: value for name, value in row.items() if value is not None}
    return json.loads(normal(json.dumps(has)))


def _measure(value, exact, digits):
    if value is None or not exact:
        return type(value).__name__
    return float(f"{value:.{digits}g}")


def _printed(text):
    """Return the tables without the seconds."""
    return [line for line in text.splitlines() if "second" not in line]
