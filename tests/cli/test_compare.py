"""``compare`` and ``plot`` as a user types them."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_words import overridden

from dpcore_lab.compare.notes import left_out_for
from dpcore_lab.compare.results import read_results

ARGUMENTS = ("--algos", "stub", "--data", "stub-rows", "--epsilon", ".5,1", "--folds", "2")
ROOT = Path(__file__).parents[2]
DRAWS = pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra dpcore[plot]")


@pytest.fixture
def compare(run, folder):
    return lambda *arguments: run("compare", *overridden(ARGUMENTS, arguments))


@pytest.mark.slow
def test_results_table_and_figure(compare, run, folder):
    done = compare("--out", "r.parquet", "--plot", "f.svg", "--repeats", "2")
    assert done.exit_code == 0, done.stderr
    for text in ("stub-rows: test accuracy in %", "nonprivate (not private)", "95 % interval"):
        assert text in done.stdout
    assert "computed WITHOUT privacy" in done.stdout and "itself a release" in done.stdout
    assert (folder / "f.svg").read_text().startswith("<?xml") and "\nFigure: f.svg\n" in done.stdout
    again = run("plot", "r.parquet", "--out", "g.svg", "--markdown")
    assert "| epsilon | 0.5 | 1 |\n| --- | --- | --- |\n| stub |" in again.stdout
    assert (folder / "f.svg").read_bytes() == (folder / "g.svg").read_bytes()
    # Every fit of the first run was kept: nothing is fitted again.
    again = compare("--out", "r.parquet", "--repeats", "2").stdout
    assert again.endswith("All fits were in r.parquet: nothing was fitted.\n")
    assert compare("--out", "r.parquet", "--repeats", "2", "--quiet").stdout == ""


@pytest.mark.slow
def test_a_relation_that_all_have_is_taken_and_named(compare, monkeypatch):
    import dpcore_stub

    monkeypatch.setattr(dpcore_stub.Stub, "relations", ("replace-one",))
    done = compare("--algos", "stub,dp-agd")
    assert "delta 1e-08, replace-one" in " ".join(done.stdout.split())
    best, line = done.stdout.partition("The best, ")[2].splitlines()[:2]
    assert "itself a release" in best and line.startswith("  stub-rows, at epsilon 0.5: ")
    assert "under replace-one, which all of these algorithms have" in done.stderr
    asked = compare("--relation", "add-or-remove-one")
    assert asked.exit_code == 2 and "no guarantee under add-or-remove-one" in asked.stderr
    assert compare("--quiet", "--out", "r.parquet").stderr == ""


@DRAWS
def test_references_alone(compare, run, folder):
    done = compare("--algos", "nonprivate,majority", "--out", "r.parquet", "--markdown")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "| epsilon | any |" in lines and "Failed" not in done.stdout
    shown = [line.split(" | ") for line in lines if "(not private)" in line]
    both = ["| majority (not private)", "| nonprivate (not private)"]
    assert [row[0] for row in shown] == 2 * both  # in accuracy, and in AUC
    assert all("±" in row[1] for row in shown)
    kept = read_results("r.parquet")
    assert [row["algorithm"] for row in kept.rows] == ["majority", "nonprivate"] * 2
    assert not any(row["private"] for row in kept.rows)
    # The file is whole: the same command has nothing left to fit, in any order of the names.
    again = compare("--algos", "majority,nonprivate", "--out", "r.parquet", "--markdown")
    assert again.stdout.splitlines()[:-1] == lines[:-1]
    assert run("plot", "r.parquet", "--markdown").exit_code == 0
    drawn = compare("--algos", "majority", "--plot", "f.svg")
    assert drawn.exit_code == 2 and "which the references do not take" in drawn.stderr


def test_a_reference_beside_an_algorithm_is_shown_once(compare):
    done = compare("--algos", "stub,nonprivate", "--markdown")
    accuracies, _ = done.stdout.split("area under the ROC curve (AUC)")
    rows = [line.split(" | ")[0] for line in accuracies.splitlines() if line.startswith("| ")]
    assert sorted(rows[2:]) == ["| majority (not private)", "| nonprivate (not private)", "| stub"]


def test_json_and_quick(compare):
    report = json.loads(
        compare("--epsilon", "1,.5,.7", "--repeats", "9", "--quick", "--json").stdout
    )
    assert report["settings"]["epsilons"] == [0.5, 1.0] and report["settings"]["repeats"] == 1
    assert report["failures"] == [] and len(report["means"]) == 4
    assert "WITHOUT privacy" in report["statement"]


@pytest.mark.slow
def test_parameters_and_failures_are_told(compare):
    arguments = ("--set", "stub.counts=100000", "--set", "stub.noise=1", "--json")
    report = json.loads(compare(*arguments).stdout)
    assert report["settings"]["params"] == {"stub": {"counts": "100000", "noise": "1"}}
    assert len(report["failures"]) == 4 and "budget" in report["failures"][0]["message"]
    done = compare(*arguments[:-1], "--plot", "f.svg")
    assert "2 of 2 failed" in done.stdout and "Failed: stub, " in done.stdout
    alone = compare(*arguments[:-1])
    assert alone.exit_code == 1 and "2 of 2 failed" in alone.stdout
    assert alone.stderr == "dpcore: all fits of stub failed.\n"
    assert done.exit_code == 2 and "No algorithm has a value of accuracy" in done.stderr


def test_a_table_without_rows_has_a_table_of_none(compare, folder):
    (folder / "schema.toml").write_text(
        (folder / "schema.toml").read_text().replace("rows = 6", "")
    )
    (folder / "rows.csv").write_text("age,city,label\n")
    done = compare("--data", "rows.csv", "--schema", "schema.toml", "--markdown")
    assert done.exit_code == 0, done.stderr
    assert "| stub | none | none |" in done.stdout
    assert "rows.csv: 6 of 6 fits had no row to measure on" in done.stdout


def test_all_that_are_left_out_for_one_reason_stand_in_one_line():
    alike = {label: f"{label.split(':')[0]} has none." for label in ("gd", "a-gd:paper")}
    assert list(left_out_for({**alike, "x": "Too large.", "y": "Its y-x is odd: y."})) == [
        "gd, a-gd:paper: each has none.",
        "x: Too large.",
        "y: Its y-x is odd: it.",
    ]


def test_a_file_of_ones_own(compare, folder):
    arguments = ("--data", "rows.csv", "--schema", "schema.toml", "--out", "r.parquet")
    assert compare(*arguments).exit_code == 0
    assert read_results("r.parquet").settings["schema"] == "schema.toml"


def test_help_and_the_table_say_what_choosing_means(run):
    shown = " ".join(run("compare", "--help").stdout.split())
    assert "computed WITHOUT privacy" in shown and "itself a release" in shown


REFUSED = [
    (["--algos", "stubb"], "Did you mean stub"),
    (["--data", "adlt"], "Did you mean adult"),
    (["--data", "adult,sqlite:///x.db?query=select 1"], "A comparison takes no database"),
    (["--epsilon", ".5,0"], "epsilon"),
    (["--epsilon", "much"], "as numbers, by commas"),
    (["--folds", "1"], "folds"),
    (["--folds", "5"], "<= 4, the rows of stub-rows"),
    (["--jobs", "0"], "jobs"),
    (["--repeats", "0"], "repeats"),
    (["--set", "counts=3"], "ALGORITHM.KEY=VALUE"),
    (["--set", "stub.counts=3", "--set", "stub.counts=4"], "twice"),
    (["--schema", "schema.toml"], "data sets have their own"),
    (["--out", "."], "directory"),
    (["--out", "no/r.parquet"], "Cannot write"),
    (["--out", "schema.toml"], "'schema.toml' as .parquet"),
    (["--out", "other.parquet"], "not a whole results file of dpcore compare. Choose another"),
    (["--data", "rows.csv", "--schema", "schema.toml", "--out", "rows.csv"], "of --data rows.csv"),
    (["--plot", "f.jpg"], ".svg, .png or .pdf"),
    pytest.param(["--plot", "no/f.svg"], "Cannot write", marks=DRAWS),
    (["--json", "--markdown"], "--json or --markdown, not both"),
    (["--algos", "all,stub"], "by itself: --algos all"),
    (["--set", "other.counts=3"], "not among the algorithms: stub."),
]


@pytest.mark.parametrize(("arguments", "text"), REFUSED)
def test_refused_before_the_first_fit(compare, folder, arguments, text):
    (folder / "other.parquet").write_text("a shopping list")
    before = sorted(folder.iterdir())
    done = compare(*([] if "--out" in arguments else ["--out", "r.parquet"]), *arguments)
    assert done.exit_code == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and text in done.stderr, done.stderr
    assert sorted(folder.iterdir()) == before


def test_what_nothing_would_be_kept_of_is_refused(compare):
    done = compare("--quiet")
    assert done.exit_code == 2 and "--quiet keeps nothing without --out" in done.stderr


def test_quiet_leaves_the_tables_that_markdown_asks_for(compare, run):
    done = compare("--quick", "--quiet", "--markdown", "--out", "r.parquet")
    assert done.exit_code == 0 and done.stderr == ""
    assert "| epsilon |" in done.stdout and "Results:" not in done.stdout
    drawn = run("plot", "r.parquet", "--quiet", "--markdown")
    assert "| epsilon |" in drawn.stdout and "No figure" not in drawn.stdout


def test_an_unfinished_comparison_is_told_from_none(run, folder):
    (folder / "r.parquet.journal").write_text("")
    done = run("plot", "r.parquet")
    assert done.exit_code == 2 and "The same dpcore compare command finishes it" in done.stderr


def test_other_settings_are_refused_with_advice(compare):
    assert compare("--out", "r.parquet", "--quiet").exit_code == 0
    done = compare("--out", "r.parquet", "--repeats", "3")
    assert done.exit_code == 2
    assert "(repeats: 1 then, 3 now). Choose another --out, or remove it" in done.stderr


PLOTS = [
    (["none.parquet"], "Cannot read"),
    (["rows.csv"], "its content is none of them"),
    (["r.parquet", "--y", "error"], "accuracy, macro_f1, objective, seconds"),
    (["r.parquet", "--out", "f.svg", "--facet", "loss"], "data or algorithm"),
    (["r.parquet", "--facet", "fold"], "data or algorithm"),
    (["r.parquet", "--out", "f.jpg"], ".svg, .png or .pdf"),
    (["r.parquet", "--out", "r.parquet"], "is the file of FILE"),
]


def test_plot_refuses(compare, run, folder):
    assert compare("--quick", "--quiet", "--out", "r.parquet").exit_code == 0
    before = sorted(folder.iterdir())
    for arguments, text in PLOTS:
        done = run("plot", *arguments)
        assert done.exit_code == 2 and text in done.stderr, (arguments, done.stderr)
        assert sorted(folder.iterdir()) == before


# Slow enough to be stopped in the middle: 24 fits of about 0.02 s.
SLOW = ("--repeats", "5", "--seed", "3", "--set", "stub.counts=150", "--set", "stub.noise=1e4")


def stopped_in_the_middle(folder, out, number, jobs, status):
    """Run SLOW in another process, stop it after some fits, and return the journal it leaves."""
    journal = folder / f"{out}.journal"
    arguments = ("compare", *ARGUMENTS, *SLOW, "--out", out, "--jobs", str(jobs))
    paths = (str(ROOT), str(ROOT / "tests" / "stub_plugin"), os.environ.get("PYTHONPATH", ""))
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcore", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not journal.exists() or len(journal.read_text().splitlines()) < 4:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == status, errors
    if number == signal.SIGINT:
        assert f"dpcore: stopped; the fits that were done are in {journal.name}" in errors
    done = len(journal.read_text().splitlines()) - 1
    assert 3 <= done < 24 and not (folder / out).exists()
    return journal


@pytest.mark.slow
def test_stopped_in_the_middle_it_goes_on(heard, compare, folder):
    """Another process is stopped after some fits; the rows are those of one that was not."""
    journals = [
        stopped_in_the_middle(folder, "killed.parquet", signal.SIGKILL, 2, -9),
        stopped_in_the_middle(folder, "interrupted.parquet", signal.SIGINT, 1, 130),
    ]
    found = []
    for name in ("killed.parquet", "interrupted.parquet", "whole.parquet"):
        assert compare(*SLOW, "--out", name, "--quiet").exit_code == 0
        rows = read_results(name).rows
        found.append([{k: v for k, v in row.items() if k != "exact_seconds"} for row in rows])
    assert found[0] == found[1] == found[2] and len(found[0]) == 24
    assert not any(journal.exists() for journal in journals)
