"""The pages of the papers: each row has a verdict, and names what there is."""

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
