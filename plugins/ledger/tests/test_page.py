"""A ledger as a page of HTML."""

import json
from html.parser import HTMLParser

import pytest
from test_table_ledger import STATED, a_release, a_run
from typer.testing import CliRunner

import dpcore
from dpcore.cli import app
from dpcore.errors import InvalidInputError
from dpcore_ledger import Terms
from dpcore_ledger.rendering import run_rows

ODD = "<script>alert('&')</script>\"><svg onload=x> %s {0} \u0646"


class Read(HTMLParser):
    """Tags and texts of a page, and its elements that hold the others."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def shown(ledger, *options) -> str:
    done = CliRunner().invoke(app, ["ledger", "show", ledger.path, *options])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def ledger(any_ledger):
    reservation = any_ledger.reserve(a_run(), {**STATED, "analyst": ODD, "algorithm": ODD})
    reservation.log.charge(a_release())
    reservation.close("finished")
    any_ledger.raise_cap(Terms.of(1.0, 1e-6))
    any_ledger.reserve(a_run(0.5), STATED)
    any_ledger.outside({"analyst": ODD, "why_not_private": ["exact metrics"]})
    any_ledger.close()
    return any_ledger


@pytest.mark.slow
def test_names_are_text_and_never_markup(ledger):
    read = Read(shown(ledger, "--html"))
    assert "script" not in read.tags
    assert read.texts.count(ODD) == 3
    assert not [name for name, _ in read.attributes if name.startswith("on")]


@pytest.mark.slow
def test_the_page_loads_nothing(ledger):
    read = Read(shown(ledger, "--html"))
    assert {"html", "head", "body", "table", "svg", "polyline"} <= {*read.tags}
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in read.attributes}
    assert not {"link", "img", "iframe", "object"} & {*read.tags}


def test_the_page_says_what_the_ledger_says_and_json_has_it_too(ledger):
    text, said = shown(ledger, "--html"), json.loads(shown(ledger, "--json"))
    read = Read(text)
    assert said["promise"][1:] in "".join(read.texts)
    assert read.tags.count("svg") == len(said["budgets"]) == 2
    assert [run["outcome"] for run in said["runs"]] == ["finished", "open"]
    for budget in said["budgets"]:
        assert f"epsilon {budget['epsilon_that_fits']:.4g}" in text
    assert f"that still fit: {said['more_like_the_last']}" in text
    for row in ("finished", "open", "exact metrics"):
        assert row in read.texts


def test_the_picture_goes_up_with_a_reservation_and_down_with_a_close(ledger):
    first = [spent["spent"][0] for spent in json.loads(shown(ledger, "--json"))["history"]]
    assert first[0] == 0
    assert first[1] > first[2] > 0
    points = next(
        value for name, value in Read(shown(ledger, "--html")).attributes if name == "points"
    )
    heights = [float(point.split(",")[1]) for point in points.split()][::2]
    assert heights[0] == 260
    assert heights[1] < heights[2] < heights[0]
    assert min(heights) >= 20


def test_a_new_ledger_has_a_page(file_ledger):
    assert "<svg" in shown(file_ledger, "--html")


def test_one_form_is_asked_for(file_ledger):
    both = CliRunner().invoke(app, ["ledger", "show", file_ledger.path, "--json", "--html"])
    assert both.exit_code == 2
    assert "not both" in both.output


def test_dates_are_said_once_a_day_and_are_whole(file_ledger):
    """Closing entries, which have no time, had made every run begin a day of its own."""
    for _ in range(9):
        file_ledger.reserve(a_run(0.1), STATED).close("finished")
    text = shown(file_ledger, "--html")
    days = [each for each in Read(text).texts if len(each) == 10 and each.count("-") == 2]
    assert 1 <= len(days) <= 2  # Two where the test runs over midnight.
    assert "viewport" in text


def test_names_that_would_command_a_terminal_are_shown_without_it(file_ledger):
    """A number for a name, or an escape sequence, had been noted for good."""
    file_ledger.reserve(a_run(0.1), {**STATED, "analyst": 3}).close("finished")
    file_ledger.reserve(a_run(0.1), {**STATED, "analyst": "a\x1b[31mb"}).close("finished")
    for option in ((), ("--html",)):
        text = shown(file_ledger, *option)
        assert "\x1b" not in text and r"a\x1b[31mb" in text


@pytest.mark.parametrize("who", [3, None, "a\x1b[31mb", "a\nb", "\ud800", "x" * 201], ids=ascii)
def test_such_names_are_not_noted(file_ledger, who):
    with pytest.raises(InvalidInputError, match="analyst="):
        dpcore.fit([[0.0]], [0], classes=(0, 1), ledger=file_ledger.path, analyst=who)
    with pytest.raises(InvalidInputError, match="ledger=3"):
        dpcore.fit([[0.0]], [0], classes=(0, 1), ledger=3)
    assert not file_ledger.state().runs


def test_an_epsilon_that_follows_from_rho_is_shown_in_four_digits_rounded_up(file_ledger):
    for epsilon in (0.22615571435901763, 0.1):
        file_ledger.reserve(a_run(0.1), {**STATED, "epsilon": epsilon}).close("finished")
    rows = [row[4] for row in run_rows(file_ledger.state())]
    assert rows == ["0.2262", "0.1"]
