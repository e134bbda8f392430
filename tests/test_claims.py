"""What pages claim of algorithms, files and numbers agrees with the code, and with other pages."""

import functools
import importlib
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpcore import cli
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


@pytest.fixture
def claims(monkeypatch):
    """Return the script that reruns claims."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("claims")


@functools.cache
def printed(command):
    """Return what a command of dpcore prints, in this process."""
    name, *words = shlex.split(command)
    assert name == "dpcore", f"long: {command}"
    run = CliRunner().invoke(cli.app, words)
    assert run.exit_code == 0, run.output
    return run.stdout


@needs_pages
def test_cheap_claims_of_pages_hold(claims):
    every = [
        claim
        for page in claims.pages()
        for claim in claims.claims_of(page.read_text(), str(page.relative_to(ROOT)))
    ]
    cheap = [claim for claim in every if not claim.long]
    faults = {(claim.page, claim.command): claims.fault_of(claim, printed) for claim in cheap}
    assert len(cheap) > 10 and {key: fault for key, fault in faults.items() if fault} == {}
    # Each has a number, so that one of another size is found.
    for claim in cheap:
        wrong = replace(claim, numbers=tuple(2 * number for number in claim.numbers))
        assert claim.numbers and claims.fault_of(wrong, printed)
    assert any(claim.long for claim in every)


CLAIM = "<!-- claim: dpcore account => rho (\\S+) mu (\\S+); within {} -->{}<!--/-->"


@pytest.mark.parametrize(
    ("within", "shown", "output", "holds"),
    [
        ("0.1", "1,000.5 to .3", "rho 1000.45 mu 0.35", True),
        ("0.1", "1,000.5 to .3", "rho 1000.45 mu 0.45", False),
        ("1 %", "200 and 3", "rho 201 mu 3", True),
        ("1 %", "200 and 3", "rho 203 mu 3", False),
        ("0.01", "1.5", "rho 2 mu 3", True),
        ("0.01", "1.5", "rho 2 mu 3.1", False),
        ("0.1", "1 2 3", "rho 1 mu 2", False),
        ("0.1", "1 2", "nothing", False),
        ("0.1", "1 2", "rho nan mu 2", False),
    ],
)
def test_a_claim_is_held_to_its_tolerance(claims, within, shown, output, holds):
    (claim,) = claims.claims_of(CLAIM.format(within, shown), "page")
    assert (claims.fault_of(claim, lambda command: output) is None) == holds


def test_a_claim_may_go_on_in_the_next_line(claims):
    (claim,) = claims.claims_of(CLAIM.format("0.1", "1 and 2").replace(" ", "\n"), "page")
    assert claim.command == "dpcore account" and claim.numbers == (1.0, 2.0)
    assert claims.fault_of(claim, lambda command: "rho 1 mu 2") is None


def test_a_mark_that_is_no_claim_is_refused(claims):
    with pytest.raises(ValueError, match="page has a claim that is not written as one"):
        list(claims.claims_of("<!-- claim: dpcore account --> 1", "page"))
