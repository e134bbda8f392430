"""The site: it builds without a warning, shows every part, and fetches nothing when it is read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry
from dpcore.registry.catalogue import plural

pytest.importorskip("mkdocs", reason="in an environment of its own: .ci/run, step site")

ROOT = Path(__file__).parents[1]
FETCHED = re.compile(r"""(?:\bsrc|<link\b[^>]*\bhref)=["']?(?:https?:)?//[^"'\s>]+""")


def fetched_from_elsewhere(text):
    return FETCHED.findall(text)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kind", ["optimizer", "mechanism", "accountant", "loss"])
def test_every_part_has_a_page_with_its_code(site, kind):
    for entry in load_registry().entries(kind):
        page = (site / "reference" / plural(kind) / f"{entry.name}.html").read_text()
        module, _, name = entry.target.partition(":")
        assert f'id="{module}.{name}"' in page
        assert f"{module.replace('.', '/')}.py" in page


def test_queries_have_pages_with_their_argument(site):
    page = (site / "reference/queries/dpcore_accuracy_first.queries.gram.html").read_text()
    assert "GramMatrix" in page and "sensitivity" in page
    pages = {path.stem for path in (site / "reference/queries").glob("*.html")}
    # Those of a private evaluation, of intervals, of private bounds and of a search too.
    assert pages >= {
        "dpcore_report.evaluation.score_counts",
        "dpcore_report.evaluation.prediction_moments",
        "dpcore_report.intervals.row_products",
        "dpcore_tables.bounds.counts",
        "dpcore_tuning.scores",
        "dpcore_baselines.queries.standardized",
        "dpcore_baselines.queries.unit_gradient",
        "dpcore_rsgd_ar.sgd_pass",
    }


def test_mechanisms_of_plugins_have_pages_whether_they_are_registered_or_not(site):
    pages = {path.stem for path in (site / "reference/mechanisms").glob("*.html")}
    assert pages >= {
        "dpcore_accuracy_first.brownian_noise.mechanism",
        "dpcore_accuracy_first.brownian_noise.threshold",
    }


def test_the_page_for_authors_of_parts_has_all_that_they_are_handed(site):
    page = (site / "reference/names/dpcore.plugin.parts.html").read_text()
    for name in (
        "data.blocks.block.Block.margins",
        "data.blocks.block.Block.weighted_sum",
        "noise.source.NoiseSource.laplace",
        "noise.source.NoiseSource.coins",
        "privacy.sensitivity.Sensitivity",
    ):
        assert f'id="dpcore.{name}"' in page, name


def test_the_facts_of_all_parts_are_shown(site):
    page = (site / "reference/facts.html").read_text()
    heads = re.findall(r'<h2 id="(\w+)">', page)
    assert heads == ["optimizer", "loss", "accountant", "answersource", "engine", "mechanism"]
    shown = {*re.findall(r"<td><code>(\w+)</code></td>", page)}
    of_each = {"published_is", "line_totals", "with_reserve", "usual_accountant", "executor"}
    assert shown >= {*of_each, "no_slot"} and len(shown) > 80


def test_all_keys_of_a_schema_are_shown(site):
    page = (site / "reference/schema-keys.html").read_text()
    assert "rows_per_unit = 5" in page and "how many features" in page


def test_every_command_has_its_help(site):
    page = (site / "reference/commands/train.html").read_text()
    assert "--epsilon" in page and "Usage: dpcore train" in page


def test_a_line_of_code_is_shown_to_its_end(site):
    # At 1,280 pixels the ends of lines, mostly comments, were cut off in 400 of 1,131 blocks.
    sheet = (site / "code.css").read_text()
    assert ".md-typeset pre > code { white-space: pre-wrap;" in sheet
    # A picture without a ground of its own was dark on dark.
    assert '.md-typeset img[src$=".svg"] { background: white }' in sheet
    pages = [path.read_text() for path in site.rglob("*.html")]
    assert all(re.search(r'<link rel="stylesheet" href="[./]*code.css">', page) for page in pages)


def test_nothing_is_fetched_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 80
    assert {page.name: fetched_from_elsewhere(page.read_text()) for page in pages} == {
        page.name: [] for page in pages
    }
    sheets = "".join(path.read_text() for path in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?(?:https?:)?//", sheets) == []


def test_a_page_that_fetches_is_noticed():
    assert fetched_from_elsewhere('<script src="https://elsewhere.example/a.js"></script>')
    assert fetched_from_elsewhere('<link rel="stylesheet" href="//elsewhere.example/a.css">')
    assert not fetched_from_elsewhere('<a href="https://elsewhere.example/">there</a>')
