"""The page: nothing that runs or is loaded, every text escaped, colours that can be read."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import Schema
from dpcore.cli import app
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Model, PrivacyStatement
from dpcore_report.card import card_of
from dpcore_report.html import html_of
from dpcore_report.stylesheet import PAIRS, PALETTES, stylesheet

EVIL = "</li><script>alert(1)</script><img src=x onerror=y>\"'&amp;"


class Tags(HTMLParser):
    """Collects elements, attributes and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def model(evil=""):
    """Return a model in which every text that a file may hold freely has ``evil`` in it."""
    name = f"age{evil}"
    columns = {
        name: {"kind": "numeric", "lower": 0, "upper": 9},
        f"t{evil}": {"kind": "categorical", "categories": [f"a{evil}", f"b{evil}"]},
        "y": {"kind": "label", "classes": [f"no{evil}", f"yes{evil}"]},
    }
    statement = PrivacyStatement(
        epsilon=1.0,
        delta=1e-8,
        relation="replace-one",
        accountant=f"own{evil}",
        conversion=f"tight{evil}",
        unit=f"rho{evil}",
        budget=0.01,
        spent=0.009,
        releases={f"count{evil}": 2},
        parts_not_from_dpcore=(f"a:B{evil}",),
        typed_by=f"frame{evil}",
        private_bounds={"columns": [name], "share": 0.1},
        ledger={"id": f"i{evil}", "run": 1, "digest": evil},
    )
    return Model(
        w=np.array([1.0, 2.0, 3.0, 4.0]),
        schema=Schema.from_dict({"columns": columns}),
        loss="logistic",
        l2=0.0,
        algo={
            "name": f"stub{evil}",
            "distribution": f"d{evil}",
            "version": f"1{evil}",
            "reference": f"r{evil}",
            "chosen_by": {"name": f"auto{evil}", "why": f"w{evil}"},
            "parameters": {f"p{evil}": f"v{evil}"},
            "slots": {f"noise{evil}": f"g{evil}"},
            "engine": f"dask{evil}",
        },
        privacy=statement.to_dict(),
        ledger=({"kind": f"k{evil}", "mechanism": f"M{evil}", "count": 1, "cost": 0.1},),
        status=f"Done.{evil}",
        details={f"d{evil}": evil},
        versions={f"python{evil}": f"3{evil}"},
    )


def test_nothing_is_run_or_loaded():
    page = parsed(html_of(card_of(model()), "docs"))
    loading = {"script", "img", "link", "iframe", "object", "image", "use", "form", "input", "base"}
    assert not loading & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert names <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "href", "scope"),
        *("data-head", "viewbox", "role", "x", "y", "x1", "x2", "y1", "y2", "width", "height"),
        *("points", "cx", "cy", "r", "transform"),
    }
    assert page.tags.count("svg") >= 3
    style = stylesheet()
    assert "url(" not in style and "@import" not in style
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes


def test_without_a_site_pages_of_the_documents_are_named():
    named = html_of(card_of(model()))
    assert "href" not in named and "More in dpcore's docs/report.md, odds." in named


def test_every_text_of_a_file_is_escaped():
    plain, evil = (parsed(html_of(card_of(model(text)), "docs")) for text in ("", EVIL))
    assert evil.tags == plain.tags
    text = "".join(evil.text)
    # Of all places at least these many: a text that were left out would be no test.
    assert text.count("<script>alert(1)") > 30 and "alert" not in "".join(plain.text)
    assert {value for name, value in evil.attributes if name == "href"} == {
        value for name, value in plain.attributes if name == "href"
    }


def test_an_unescaped_page_is_found():
    broken = html_of(card_of(model(EVIL)), "docs").replace("&lt;script&gt;", "<script>", 1)
    tags = Tags()
    tags.feed(broken)
    assert "script" in tags.tags


def test_links_lead_to_the_documents():
    page = parsed(html_of(card_of(model()), "https://example.org/dpcore/"))
    links = [value for name, value in page.attributes if name == "href"]
    assert links and all(link.startswith("https://example.org/dpcore/") for link in links)
    assert "https://example.org/dpcore/report.html#odds" in links


def luminance(colour):
    """Return the relative luminance of #rrggbb: WCAG 2.2, the definition."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_of_known_colours():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    # The grey next above the limit on white, and the next that fails, as WebAIM's checker has them.
    assert contrast("#767676", "#ffffff") >= 4.5 > contrast("#777777", "#ffffff")


@pytest.mark.parametrize("palette", PALETTES)
def test_colours_have_the_contrast_of_wcag_aa(palette):
    colours = PALETTES[palette]
    found = {(a, b): contrast(colours[a], colours[b]) for a, b, _ in PAIRS}
    assert [(a, b) for a, b, least in PAIRS if found[a, b] < least] == []
    assert set(colours) == {name for a, b, _ in PAIRS for name in (a, b)}


def test_the_sheet_uses_the_colours_and_no_others():
    rules = stylesheet()
    for name in PALETTES["light"]:
        assert f"var(--{name})" in rules
    assert PALETTES["light"].keys() == PALETTES["dark"].keys()
    named = rules.split("* {", 1)[1]
    assert "#" not in named and "rgb" not in named


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture
def path(tmp_path):
    model().save(tmp_path / "m.json")
    return tmp_path / "m.json"


def test_the_command_writes_a_page(path):
    out = path.with_name("report.html")
    assert run(path, "--out", out).exit_code == 0
    page = parsed(out.read_text())
    assert page.tags[0] == "html" and "differentially private" in "".join(page.text)
    assert run(path).output == out.read_text()


def test_the_command_writes_text_and_json(path):
    assert run(path, "--format", "text").output.startswith("A model that predicts 'no' or 'yes'")
    told = json.loads(run(path, "--format", "json").output)
    assert told["statement"]["epsilon"] == 1.0
    assert told["figures"]["in_the_table"]["epsilon"] == 1.0


def test_the_command_refuses_what_is_no_model_and_does_not_write_over_it(path):
    before = path.read_text()
    for arguments, words in (
        ((path, "--out", path), "is the file of the model"),
        ((path, "--format", "pdf"), "html, text, json"),
        ((path.with_name("none.json"),), "Cannot read model file"),
        ((path, "--out", path.parent), "Cannot write"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2 and words in " ".join(result.output.split())
    assert path.read_text() == before


@pytest.mark.parametrize(
    "docs",
    [
        *("javascript:alert(1)", "JavaScript:x", "java\tscript:x", " javascript:x", "\x01data:x"),
        *("data:text/html,x", "vbscript:x", "file:///etc", "ftp://a/docs", "//a.example/docs"),
        *("/docs", "\\\\a.example\\docs", "https:", "http:///docs", "https://[/docs", ""),
        *("https://a.example/docs?x=1", "https://a.example/docs/#", "https://me:secret@a.example"),
    ],
)
def test_links_lead_to_pages_and_run_nothing(docs):
    with pytest.raises(InvalidInputError, match="Expected --docs .* to begin with https://"):
        html_of(card_of(model()), docs)


@pytest.mark.parametrize(
    "docs", ["docs", "../docs/", ".", "HTTPS://a.example/docs", "http://localhost:8000/docs"]
)
def test_pages_and_relative_paths_are_linked(docs):
    assert f'href="{docs.rstrip("/")}/report.html' in html_of(card_of(model()), docs)


def test_texts_of_a_file_command_no_terminal_that_the_page_is_sent_to():
    page = html_of(card_of(model("\x1b[2J\x07\u202egone")))
    assert not {"\x1b", "\x07", "\u202e"} & {*page}
    assert r"age\x1b[2J\x07\u202egone" in page
