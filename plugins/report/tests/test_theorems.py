"""The theorems of a report are those of the documents, of every part that dpcore has."""

import importlib
import re
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry
from dpcore_report.theorems import ACCOUNTANTS, MECHANISMS, PAGE

ROOT = Path(__file__).parents[3]
PATH = ROOT / "docs" / PAGE

needs_documents = pytest.mark.skipif(not PATH.is_file(), reason="needs the docs of a checkout")


def own(kind):
    entries = load_registry().entries(kind)
    of_all = ("dpcore", "dpcore-accounting")
    return [entry for entry in entries if entry.distribution in of_all]


def test_every_mechanism_and_filter_of_the_core_has_its_theorem():
    classes = {entry.target.partition(":")[2]: entry.target for entry in own("mechanism")}
    assert classes.keys() == MECHANISMS.keys()
    # "best" charges nothing: the statement names the filter that it chose.
    assert {entry.name for entry in own("accountant")} - {"best"} == ACCOUNTANTS.keys()
    targets = {entry.name: entry.target for entry in own("accountant")} | classes
    for name, theorem in (MECHANISMS | ACCOUNTANTS).items():
        assert targets[name].partition(":")[0] == theorem.module


@pytest.mark.parametrize("name", MECHANISMS | ACCOUNTANTS)
def test_the_sources_are_those_that_the_code_states(name):
    theorem = (MECHANISMS | ACCOUNTANTS)[name]
    text = " ".join(Path(importlib.import_module(theorem.module).__file__).read_text().split())
    years = re.findall(r"([A-Z]\w+)[^;]*?((?:19|20)\d\d)", theorem.source)
    assert years
    assert [(author, year) for author, year in years if author not in text] == []


@needs_documents
def test_the_page_has_a_head_for_each_with_the_same_words():
    sections = re.split(r"(?m)^### ", PATH.read_text())[1:]
    found = {section.partition("\n")[0]: " ".join(section.split()) for section in sections}
    theorems = MECHANISMS | ACCOUNTANTS
    assert found.keys() == theorems.keys()
    for name, theorem in theorems.items():
        assert f"{theorem.says[0].upper()}{theorem.says[1:]}" in found[name]
        assert f"*{theorem.source}.*" in found[name]
        assert f"`{theorem.module}`" in found[name]


@needs_documents
def test_a_report_links_to_pages_and_heads_that_exist():
    texts = [path.read_text() for path in (ROOT / "plugins/report/dpcore_report").glob("*.py")]
    pages = {page for text in texts for page in re.findall(r'"(\w+\.md(?:#[\w-]+)?)"', text)}
    assert len(pages) >= 5
    for page in pages:
        name, _, anchor = page.partition("#")
        text = (ROOT / "docs" / name).read_text()
        heads = [re.sub(r"[^\w -]", "", h.lower()) for h in re.findall(r"(?m)^#+ (.*)$", text)]
        assert not anchor or anchor in [head.replace(" ", "-") for head in heads], page
