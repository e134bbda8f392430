"""The pages of the papers: each row has a verdict, and names what there is; no item is left out."""

import csv
import importlib
import re
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry, optimizer_facts

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("papers", "papers-and-baselines")]
VERDICTS = ("same", "within the interval", "differs because", "differs; ", "not run: ")
pytestmark = pytest.mark.skipif(
    not PAGES[0].exists(), reason="the pages are beside the sources alone"
)


def rows(text):
    """Return the cells of the rows that are an item's."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row[0] != "item" and not row[0].startswith("**")]


def all_pages():
    return "".join(page.read_text() for page in PAGES)


def faults(text):
    """Yield what is wrong with a page of papers."""
    registry = load_registry()
    for row in rows(text):
        item, command, verdict = row[0], row[1], row[-1]
        if len(row) != 5 or not verdict.startswith(VERDICTS):
            yield f"{item}: {verdict}"
        for algo in re.findall(r"--algo ([a-z-]+)", command):
            if algo not in registry.names("optimizer"):
                yield f"{item}: no algorithm {algo}"
        for algo in re.findall(r"--algo ([a-z-]+)[^`]* --preset paper", command):
            if "paper" not in optimizer_facts(registry.load("optimizer", algo)).presets:
                yield f"{item}: {algo} has no preset paper"
        for script in re.findall(r"`(\w+\.py)", command):
            if not (ROOT / "bench" / "figures" / script).exists():
                yield f"{item}: no {script}"
        if not re.match(r"`--(algo|data) |`\w+\.py", command):
            yield f"{item}: no command"


def test_every_item_has_a_verdict_and_a_command_that_there_is():
    text = all_pages()
    assert len(rows(text)) > 55 and list(faults(text)) == []


def test_every_algorithm_of_the_papers_has_a_row():
    registry, text = load_registry(), all_pages()
    with_presets = [
        name
        for name in registry.names("optimizer")
        if "paper" in optimizer_facts(registry.load("optimizer", name)).presets
    ]
    # Doubling is in the rows of Figure 1; Tang et al. are not compared with in these papers.
    others = {"boosted-adassp", "cov-doubling", "output-doubling"}
    missing = {name for name in with_presets if f"--algo {name}" not in text}
    assert missing == others


def test_every_algorithm_that_is_drawn_has_a_row():
    # Majority was in each of the figures and in no row.
    drawn = set()
    for path in (ROOT / "bench" / "results" / "figures").glob("*.csv"):
        lines = (line for line in path.read_text().splitlines() if not line.startswith("# "))
        drawn |= {row.get("algorithm", "").partition(":")[0] for row in csv.DictReader(lines)}
    known, text = load_registry().names("optimizer"), all_pages()
    named = drawn & {*known}
    assert len(named) > 15
    # dp-gd is of none of the papers.
    assert {name for name in named if f"--algo {name}" not in text} == {"dp-gd"}


# Numbered as in the papers; DP-AGD's as far as its slides and notes have them.
NUMBERED = {
    "DP-AGD": (
        "Algorithm 1, Algorithm 2, Theorem 3.3, Lemma 3.5, Lemma 3.6, Lemma 3.7, Lemma 3.8, "
        "Figure 1a, Figure 1b, Figure 1c, Figure 1d, Figure 2, Figure 3"
    ),
    "RSGD-AR": (
        "Algorithm 1, Algorithm 2, Algorithm 3, Lemma 1, Lemma 2, Lemma 3, Proposition 1, "
        "Proposition 2, Proposition 3, Table 1, Figure 1, Figure 2, Figure 3"
    ),
    "Accuracy First": (
        "Algorithm 1, Algorithm 2, Algorithm 3, Theorem 2.4, Theorem 2.5, Theorem 2.6, "
        "Theorem 2.7, Lemma 2.8, Theorem 3.1, Theorem 3.2, Theorem 3.3, Theorem 3.4, Figure 1a, "
        "Figure 1b, Figure 1c, Figure 1d"
    ),
    "A-DDP": "Algorithm 1, Theorem 1, equation 4, Table 1, Figure 1, Figure 2, Figure 3",
}
OBJECTIVES = {
    "DP-AGD": (
        *("Figure 1a", "Figure 1b", "Figure 1c", "Figure 1d"),
        *("Figure 2, Adult", "Figure 2, BANK", "Figure 2, KDDCup99"),
        *("Figure 3, SVM, Adult", "Figure 3, SVM, BANK", "Figure 3, KDDCup99"),
    ),
    "RSGD-AR": ("Figure 1, Adult", "Figure 1, BANK", "Figure 2", "KDDCup99"),
    "A-DDP": ("Figure 2",),
}
"""Figures that have panels of objective values, by the data of their rows."""
LISTS = re.compile(
    r"(Algorithm|Theorem|Lemma|Proposition|Figure|Table|equation)s? "
    r"(\d[\d.]*[a-d]?(?:(?:, | and | to )\d[\d.]*[a-d]?)*)"
)


def items(text):
    """Return the numbered items that words such as `Theorems 2.4 to 2.7` name."""
    found = set()
    for kind, numbers in LISTS.findall(text):
        first, _, last = numbers.partition(" to ")
        several = re.split(", | and ", first)
        if last:
            chapter, begin = several.pop().split(".")
            ends = range(int(begin), int(last.split(".")[1]) + 1)
            several += [f"{chapter}.{number}" for number in ends]
        found |= {f"{kind} {number}" for number in several}
    return found


def by_paper():
    """Return the rows of `papers.csv` by the paper's first words."""
    found = {}
    with (ROOT / "bench" / "figures" / "papers.csv").open(newline="") as file:
        for item, *cells in list(csv.reader(file))[1:]:
            if not any(cells):
                last = found.setdefault(item.partition(" (")[0], [])
            else:
                last.append((item, *cells))
    return found


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_item_of_a_paper_has_a_row(paper):
    rows_of = by_paper()[paper]
    named = {each for item, *_ in rows_of for each in items(item)}
    assert set(NUMBERED[paper].split(", ")) - named == set()
    drawn = {item for item, _, here, *_ in rows_of if "; objective}" in here}
    without = [
        figure for figure in OBJECTIVES.get(paper, ()) if not re.search(figure, " ".join(drawn))
    ]
    assert without == []


def beyond(here, number_of, measure="accuracy"):
    """Return the differences of a measure in a cell that are beyond their intervals."""
    queries = re.findall(rf"\{{([^}}]* - [^}}]*; {measure})\}}", here)
    found = re.findall(r"(\S+) ± ([\d.]+)", ", ".join(map(number_of, queries)))
    return [value for value, half in found if abs(float(value)) > float(half)]


def test_a_difference_within_its_interval_is_so_in_the_file(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "figures"))
    number_of = importlib.import_module("pages").number_of
    every = [row for rows_of in by_paper().values() for row in rows_of]
    within = [here for _, _, here, _, verdict in every if verdict.startswith("within the interval")]
    plain = [each for each in every if re.fullmatch("within the interval(;.*)?", each[-1])]
    assert len(within) > len(plain) > 0
    assert {item: beyond(here, number_of) for item, _, here, *_ in plain} == {
        item: [] for item, *_ in plain
    }
    # Those that say where they are not.
    assert any(beyond(here, number_of) for here in within)
    of_objectives = {
        item: verdict
        for item, _, here, _, verdict in every
        if "within the interval" in verdict and beyond(here, number_of, "objective")
    }
    silent = {item for item, verdict in of_objectives.items() if "objective" not in verdict}
    assert len(of_objectives) > 3 and silent == set()


def test_a_list_of_items_is_read_as_each_of_them():
    assert items("Algorithm 1, Theorems 2.4 to 2.6") == {
        "Algorithm 1",
        *(f"Theorem 2.{number}" for number in (4, 5, 6)),
    }
    assert items("Lemmas 2, 3, Proposition 3") == {"Lemma 2", "Lemma 3", "Proposition 3"}
    assert items("Figures 1a, 1c, doubling; the authors' code") == {"Figure 1a", "Figure 1c"}


@pytest.mark.parametrize(
    "row",
    [
        "| a | `--algo dp-agd` | 1 | 2 | agrees |",
        "| a | `--algo dp-agdd` | 1 | 2 | same |",
        "| a | `--algo auto --preset paper` | 1 | 2 | same |",
        "| a | `none.py` | 1 | 2 | same |",
        "| a | by hand | 1 | 2 | same |",
    ],
)
def test_a_fault_of_a_row_is_found(row):
    assert list(faults(f"| item | command | here | paper | verdict |\n{row}\n"))
