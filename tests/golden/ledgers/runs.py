"""Runs of every kind over one table, charged to one ledger, in either store."""

import io
import json
from contextlib import redirect_stderr, suppress
from pathlib import Path

from golden import tables
from golden.command import dpcore

from dpcore import fit
from dpcore.errors import DpcoreError
from dpcore_tables.statistics import open_session

_GD = "dpcore train --data rows.csv --algo dp-gd --set steps=12 --quiet"
_RDP = "dpcore train --data rows.csv --algo privgene --accountant rdp --set generations=4 --quiet"
_GENE = _RDP.replace("rdp", "zcdp")
_LINES = (
    "dpcore ledger init {place} --epsilon 6 --delta 1e-6",
    _GD + " --schema hired.toml --ledger {place} --as ann --epsilon 1 --out model.json",
    _GENE + " --schema hired.toml --ledger {place} --rho .01",
    _RDP + " --schema income.toml --same-table --ledger {place} --epsilon .5",
    _GENE + " --schema hired.toml --ledger {place} --part city=Bern --epsilon 1",
    _GENE + " --schema hired.toml --ledger {place} --part city=Basel",
    _GD + " --schema hired.toml --ledger {place} --seed 1",
    "dpcore tune --data rows.csv --algo dp-gd --schema hired.toml --set l2=.01,.1 --search list"
    " --ledger {place} --epsilon .5 --quiet",
    "dpcore ledger raise {place} --epsilon 1 --delta 1e-7",
)
"""What each run costs does not depend on its noise: dp-gd counts whole, as another unit's."""


def make(place):
    """Charge the runs to a new ledger, and save the models of two."""
    tables.write(rows=None)
    for line in _LINES:
        said = dpcore(line.format(place=f"'{place}'"))
        assert said.status == 0, (line, said)
    asked = {"schema": "hired.toml", "ledger": place}
    with open_session("rows.csv", analyst="bob", rho=0.01, **asked) as session:
        session.count(share=0.25)
        session.histogram("city", share=0.25)
    with open_session("rows.csv", **asked) as session:
        session.mean("age", share=0.01)
    _closed_by_others(place, asked)
    pure = {"algo": "privgene", "delta": 0.0, "accountant": "pure", "epsilon": 0.25}
    fit("rows.csv", **pure, **asked).save("pure.json")


def make_of_units(place):
    """Charge a run that protects all rows of a person together to a new ledger."""
    Path("units.toml").write_text(tables.schema(unit=True, rows=None))
    lines = (
        "dpcore ledger init {place} --epsilon 6 --delta 1e-6 --unit person",
        _GD + " --schema units.toml --ledger {place} --epsilon 1",
    )
    for line in lines:
        said = dpcore(line.format(place=place))
        assert said.status == 0, (line, said)


def _closed_by_others(place, asked):
    """Leave a session open, which then is closed as spent, as one of a process that has died."""
    session = open_session("rows.csv", rho=0.01, **asked)
    session.count(share=0.5)
    shown = dpcore(f"dpcore ledger show '{place}' --json")
    number = json.loads(shown.out)["runs"][-1]["run"]
    assert dpcore(f"dpcore ledger close '{place}' {number}").status == 0
    with suppress(DpcoreError), redirect_stderr(io.StringIO()):
        session.close()
