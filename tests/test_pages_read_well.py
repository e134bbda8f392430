"""Measures of the pages, each with a limit, and ceilings that only fall for pages beyond it.

python tests/test_pages_read_well.py    # prints the ceilings of today
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "plugins/*/*.md", "bench/**/*.md")
    for page in ROOT.glob(pattern)
)
pytestmark = pytest.mark.skipif(not PAGES, reason="the pages are beside the sources alone")

WITHOUT_LIMIT = "CHANGELOG.md"
"""The page whose words are in the sum alone: it grows with each version."""
MOST_WORDS = 1200
OTHER_WORDS = {
    "README.md": 900,
    "bench/README.md": 2000,
    "docs/audit.md": 1798,
    "docs/data.md": 2862,
    "docs/design.md": 1800,
    "docs/ledger.md": 1019,
    "docs/plugins.md": 3049,
    "plugins/baselines/README.md": 2000,
}
"""Pages with a limit of their own."""
ALL_WORDS = 45_000
"""Words of all pages together, those of the changelog too."""


class Measures(NamedTuple):
    """Words of a page, and its longest cell and line in characters, and sentence in words."""

    words: int
    cell: int
    line: int
    sentence: int


# One line a page, so that pages can be rewritten side by side. A ceiling is never raised; a page
# within all limits has no line.
CEILINGS: dict[str, Measures] = {}


def relative(page):
    return str(page.relative_to(ROOT))


def limits_of(name):
    words = ALL_WORDS if name == WITHOUT_LIMIT else OTHER_WORDS.get(name, MOST_WORDS)
    return Measures(words, cell=160, line=120, sentence=45)


def is_row(line):
    return line.lstrip().startswith("|")


def without_marks(text):
    """Return a page without comments, which readers do not see."""
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def cells_of(text):
    rows = [line.strip() for line in text.split("\n") if is_row(line)]
    return [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row.strip("|"))]


def sentences_of(text):
    """Return the sentences of paragraphs and items, with code and addresses as single words."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = "\n".join(line for line in text.split("\n") if not re.match(r"\s*(\||#)|    ", line))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", text)
    parts = [re.sub(r"^\s*(?:[*-]|\d+\.) ", "", part) for part in parts]
    return [each for part in parts for each in re.split(r"(?<=[.!?])[*_)\"]*\s+", part)]


def without_code(text):
    """Return the lines outside of blocks of code, for their cells."""
    return re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.DOTALL | re.MULTILINE)


def measures_of(text):
    seen = without_marks(text)
    return Measures(
        words=len(seen.split()),
        cell=max(map(len, cells_of(without_code(seen))), default=0),
        line=max((len(line) for line in seen.split("\n") if not is_row(line)), default=0),
        sentence=max((len(each.split()) for each in sentences_of(seen)), default=0),
    )


def measured(page):
    return measures_of(page.read_text("utf-8"))


def beyond(found, limits):
    """Return the measures that are beyond their limits."""
    return {name: size for name, size in found._asdict().items() if size > limits._asdict()[name]}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_page_is_within_its_limits_or_ceilings(page):
    limits = limits_of(relative(page))
    now = CEILINGS.get(relative(page), limits)
    assert beyond(measured(page), Measures(*map(max, limits, now))) == {}


def test_ceilings_are_of_pages_that_are_still_beyond_a_limit():
    names = {relative(page): page for page in PAGES}
    done = [
        name
        for name in CEILINGS
        if name not in names or not beyond(measured(names[name]), limits_of(name))
    ]
    assert done == [], "Take their ceilings out."


def test_all_pages_together_have_few_words():
    assert sum(measured(page).words for page in PAGES) <= ALL_WORDS


PROSE = "word " * 45


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("word " * 1201, "words"),
        ("| a | " + "b" * 161 + " |", "cell"),
        ("```\n" + "c" * 121 + "\n```", "line"),
        (f"A short one. {PROSE}\nmore. A last one.", "sentence"),
        (f"* An item\n* {PROSE} more", "sentence"),
    ],
)
def test_a_page_beyond_a_limit_is_found(text, found):
    assert found in beyond(measures_of(text), limits_of("docs/a.md"))


@pytest.mark.parametrize(
    "text",
    [
        "word " * 20 + "\n" + "word " * 20,
        "| a | " + "b" * 160 + " | " + "b" * 160 + " |",
        "<!-- " + "d" * 121 + " d" * 1200 + " -->",
        f"```\n{PROSE.replace(' ', chr(10))}\nmore\n```",
        f"* {PROSE.replace(' w', chr(10) + 'w')}\n* {PROSE.replace(' w', chr(10) + 'w')}",
    ],
)
def test_a_page_within_the_limits_is_not_blamed(text):
    assert beyond(measures_of(text), limits_of("docs/a.md")) == {}


if __name__ == "__main__":
    for each in PAGES:
        if beyond(sizes := measured(each), limits_of(relative(each))):
            print(f'    "{relative(each)}": Measures{tuple(sizes)},')
    print(sum(measured(each).words for each in PAGES))
