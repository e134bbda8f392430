"""Externals in a comparison: admitted before anything is noted, marked, capped, gone on with."""

from dataclasses import replace

import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.commands.comparison_text import print_summary
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.figure import draw
from dpcore_lab.compare.results import read_results
from dpcore_lab.compare.runner import run
from dpcore_lab.compare.settings import Comparison
from dpcore_lab.compare.table import means_of
from dpcore_ledger import TableLedger, Terms

from .conftest import arrow

SECRET = "4711"
NOT_OURS = "not ours, guarantee not checked"
SCHEMA = """
rows = 6
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
label = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = "age,label\n10,no\n20,yes\n30,no\n40,yes\n50,yes\n60,no\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a private table of six rows, its schema, and predictions of three
    test rows: under replace-one each of two folds has so many."""
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "three.arrow").write_bytes(arrow([0.25, 0.75, 0.75]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def comparison(*names, **changes):
    base = Comparison(names, ("rows.csv",), (1.0,), folds=2, relation="replace-one")
    return replace(base, **{"delta": 1e-6, "schema": "schema.toml", **changes})


def scripts(folder):
    copy = f'echo >> {folder}/starts; cp {folder}/three.arrow "$1/predictions.arrow"'
    broken = f"echo row {SECRET} >&2; exit 3"
    return {"made": copy, "stuck": "sleep 600", "broken": broken}


def test_fits_are_marked_and_ends_are_told_apart(folder, registered, capsys):
    registered(scripts(folder), pure=True)
    admitted, left_out = admit(comparison("made", "stuck", "broken", caps=(0.4, 2.0)))
    assert admitted.externals == ("made", "stuck", "broken") and not left_out
    results = run(admitted, folder / "results.parquet")
    ends = {row["algorithm"]: row["status"] for row in results.rows}
    assert [ends[name] for name in admitted.externals] == ["fitted", "capped", "failed"]
    rows = read_results(folder / "results.parquet").rows
    told = {row["algorithm"]: (row["guarantee"], row["private"]) for row in rows}
    assert told["made"] == told["broken"] == (f"{NOT_OURS}; pure", None)
    assert told["majority"] == (None, False)
    print_summary(results, means_of(results.rows, "accuracy"), "accuracy", markdown=True)
    printed = capsys.readouterr().out
    assert f"| made ({NOT_OURS}; pure) |" in printed and "2 of 2 reached a cap" in printed
    assert "Reached a cap: stuck, 2 fits: stopped at its cap of 0.4 seconds." in printed
    assert "Failed: broken, 2 fits: ended with exit status 3" in printed
    assert (
        SECRET not in printed and SECRET.encode() not in (folder / "results.parquet").read_bytes()
    )


@pytest.mark.slow
@pytest.mark.parametrize("facet", ["data", "algorithm"])
def test_a_picture_marks_it(folder, registered, facet):
    registered(scripts(folder))
    results = run(admit(comparison("made"))[0], None)
    figure = draw(means_of(results.rows, "accuracy"), results.settings, "accuracy", facet)
    titles = [axis.get_title() for axis in figure.axes]
    legend = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert f"made ({NOT_OURS})" in (titles if facet == "algorithm" else legend)


def test_a_comparison_goes_on_where_it_ended(folder, registered):
    registered(scripts(folder))
    asked = admit(comparison("made", repeats=2, references=()))[0]
    out, starts = folder / "results.parquet", folder / "starts"

    def stop(done, total, row):
        if row["algorithm"] == "made":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(asked, out, on_row=stop)
    assert len(starts.read_text()) == 1 and not out.exists()
    results = run(asked, out)
    assert len(starts.read_text()) == 4  # Two folds, two repeats: none was made twice.
    assert sum(row["status"] == "fitted" for row in results.rows if row["epsilon"]) == 4


def test_under_a_ledger_it_is_refused_before_anything_is_noted(folder, registered, monkeypatch):
    registered(scripts(folder))
    TableLedger.create(folder / "table.ledger", Terms.of(2.0, 1e-6))
    monkeypatch.setenv("DPCORE_LEDGER", str(folder / "table.ledger"))

    def content():
        return {path.name: path.read_bytes() for path in folder.glob("table.ledger*")}

    before = content()
    with pytest.raises(InvalidInputError, match=r"the ledger of rows\.csv cannot be charged"):
        admit(comparison("made"))
    assert content() == before and not (folder / "starts").exists()
    admit(comparison("majority"))  # The control: what is admitted is noted.
    assert content() != before


@pytest.mark.parametrize(
    ("changes", "facts", "message"),
    [
        ({"delta": 0.0}, {}, "made is not pure"),
        ({"params": {"made": {"steps": "3"}}}, {}, "made takes no parameters"),
        ({}, {"tasks": ("number",)}, "made fits number alone"),
        ({"caps": (0.0, 1.0)}, {}, "Expected a cap"),
        ({"multiclass": "ovr"}, {}, "no classes against the rest"),
    ],
)
def test_what_cannot_be_compared_is_refused(folder, registered, changes, facts, message):
    registered(scripts(folder), **facts)
    with pytest.raises(InvalidInputError, match=message):
        admit(comparison("made", **changes))


def test_rows_that_no_external_is_handed_are_refused(folder, registered):
    registered(scripts(folder))
    classes = SCHEMA.replace('"no", "yes"]', '"no", "yes", "maybe"]')
    (folder / "schema.toml").write_text(classes)
    with pytest.raises(InvalidInputError, match="three classes"):
        admit(comparison("made", loss="softmax"))
