"""The picture of a ledger: its sums over time, and no name."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from dpcore.errors import DataError, LedgerError
from dpcore_lab.commands.plot import plot_command
from dpcore_lab.pictures.of_ledger import ledger_picture

BUDGET = {"budget": 0.5, "unit": "rho", "epsilon": 2.0, "delta": 1e-6, "accountant": "zcdp"}
MOMENTS = (("1970-01-02T00:00:00+00:00", 0.0), ("1970-01-04T12:00:00+00:00", 0.4), ("", 0.1))


def shown(**changes):
    history = [{"entry": k, "at": at, "spent": [x]} for k, (at, x) in enumerate(MOMENTS, 1)]
    return {"id": "a", "promise": "p", "budgets": [BUDGET], "history": history} | changes


def written(tmp_path, content):
    path = tmp_path / "shown"
    path.write_text(json.dumps(content))
    return str(path)


def test_the_line_is_level_between_entries_and_the_cap_above_it(tmp_path):
    (panel,) = ledger_picture(written(tmp_path, shown())).panels
    spent, cap = panel.series
    assert panel.title == "Budget 1: epsilon 2, delta 1e-06 (zcdp)" and panel.of_values == "rho"
    assert spent.values == (0.0, 0.0, 0.4, 0.4, 0.1)
    # The end of a run, which has no time, is at the time of the entry before it.
    assert panel.places == (1.0, 3.5, 3.5, 3.5, 3.5) and panel.is_date
    assert set(cap.values) == {0.5}


BROKEN = [
    {"budgets": 3},
    {"budgets": [{}]},
    {"budgets": [BUDGET | {"budget": "much"}]},
    {"budgets": [BUDGET, BUDGET]},
    {"history": [{"at": "", "spent": [0.0]}]},
    {"history": [{"at": "soon", "spent": [0.0]}]},
    {"history": []},
]


@pytest.mark.parametrize("changes", BROKEN, ids=str)
def test_json_that_was_altered_is_refused_in_a_line(tmp_path, changes):
    with pytest.raises(DataError, match="is not what dpcore ledger show --json prints"):
        ledger_picture(written(tmp_path, shown(**changes)))


@pytest.mark.slow
def test_a_ledger_and_what_show_prints_of_it_are_one_picture_that_names_nobody(ledger, tmp_path):
    show = [sys.executable, "-m", "dpcore", "ledger", "show", str(ledger), "--json"]
    printed = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    (tmp_path / "printed.txt").write_text(printed)
    assert "Zoe" in printed
    of_file, of_json = (ledger_picture(str(each)) for each in (ledger, tmp_path / "printed.txt"))
    assert of_file == of_json and "Zoe" not in repr(of_file)
    (panel,) = of_file.panels
    assert panel.series[0].values[-1] == json.loads(printed)["budgets"][0]["spent"] > 0
    pytest.importorskip("matplotlib")
    plot_command(str(ledger), out=tmp_path / "l.svg")
    drawn = (tmp_path / "l.svg").read_text()
    assert "counts as spent" in drawn and "Zoe" not in drawn
    with closing(sqlite3.connect(ledger)) as file, file:
        file.execute("UPDATE entry SET body = replace(body, 'Zoe', 'Eve')")
    with pytest.raises(LedgerError):
        ledger_picture(str(ledger))
