"""What pages claim of algorithms, files and figures agrees with the code, and with other pages."""

import re
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry, optimizer_facts

ROOT = Path(__file__).parents[1]
READMES = sorted(ROOT.glob("plugins/*/README.md"))
needs_pages = pytest.mark.skipif(not READMES, reason="the pages are beside the sources alone")


@needs_pages
def test_the_page_of_choices_names_presets_that_there_are():
    # It sent its readers to `sgd-ma --preset paper`, which is refused.
    text, registry = (ROOT / "docs" / "choosing.md").read_text(), load_registry()
    line = next(line for line in text.splitlines() if "`--preset paper`" in line)
    named = [
        name for name in re.findall("`([a-z-]+)`", line) if name in registry.names("optimizer")
    ]
    facts = [optimizer_facts(registry.load("optimizer", name)) for name in named]
    assert len(named) > 2 and all("paper" in each.presets for each in facts)


def denied(page, text):
    """Return the files that a page says are not there, and are."""
    return [name for name in re.findall(r"no `(\w+\.py)`", text) if any(page.parent.rglob(name))]


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.parent.name)
def test_no_page_denies_a_file_of_its_plugin(page):
    assert denied(page, page.read_text()) == []


@needs_pages
def test_a_page_that_denies_a_file_is_found():
    page = ROOT / "plugins" / "baselines" / "README.md"
    assert denied(page, "No loop is their own, and so there is no `kernels.py`.") == ["kernels.py"]


@needs_pages
def test_two_pages_have_the_same_figures_of_the_default_with_the_hinge():
    # Of kddcup99-10 at epsilon .05 one page had 98.9 and another 99.4.
    baselines = (ROOT / "plugins" / "baselines" / "README.md").read_text()
    of_auto = baselines.partition("add-or-remove-one, hinge")[2].partition("huber-svm")[0]
    row = re.search(r"kddcup99-10: auto +(\S+) +(\S+) +(\S+) +(\S+)", of_auto)
    assert row
    figures = (ROOT / "bench" / "figures" / "README.md").read_text()
    of_steps = figures.partition("    hinge, epsilon")[2].partition("\n\n")[0]
    line = next(line for line in of_steps.splitlines() if line.split()[:1] == ["dp-gd"])
    at_05, at_2, _, at_8 = row.groups()
    assert line.split()[-3:] == [at_05, at_2, at_8]
