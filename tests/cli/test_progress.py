"""Progress: a bar at a terminal, elsewhere lines; public facts, and bytes in place of rows."""

import os
import re
import time
from types import SimpleNamespace

import pytest

from dpcore.cli.terminal import progress
from dpcore.cli.terminal.progress import FilesRead, Step, TimeLeft, line_of
from dpcore.cli.terminal.steps import (
    ReleasesMade,
    fit_progress,
    rounds_progress,
)
from dpcore.plugin.parts import GaussianDpEvent, PureAccountant, PureDpEvent, load_registry
from dpcore.session.charges import Budget, Charges

PldAccountant = load_registry().load("accountant", "pld")

HALF = Step("fitting", 0.5, 1.0, "12 releases, 50% of the budget")


def left_after(seconds, *steps):
    now = iter(seconds)
    left = TimeLeft(lambda: next(now))
    return [left.of(step) for step in steps]


def test_the_time_left_goes_by_the_speed_since_the_first_look():
    """At the speed since 0, which was an earlier run's, 11 s would be left in place of a minute."""
    fits = [Step("fits", done, 100, "") for done in (60, 70, 90, 100)]
    words = ["", "about 1 min 0 s left", "about 20 s left", ""]
    assert left_after((5, 25, 65, 90), *fits) == words
    assert left_after((0, 25), Step("fits", 0, 100, ""), fits[1])[1] == "about 11 s left"


def test_another_step_has_a_speed_of_its_own():
    steps = [Step("reading", 1, 4, ""), Step("reading", 2, 4, ""), HALF]
    assert left_after((0, 4000, 5000), *steps) == ["", "about 2 h 13 min left", ""]
    assert left_after((0, 9), Step("reading", 1, None, ""), Step("reading", 2, None, ""))[1] == ""


@pytest.fixture
def quick(monkeypatch):
    """Lines every hundredth of a second."""
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.01)


def wait_for(told):
    ends = time.monotonic() + 30
    while not told() and time.monotonic() < ends:
        time.sleep(0.01)


def test_without_a_terminal_lines_are_told(quick, capsys):
    told = []
    with Step.shown(lambda: HALF, hidden=False):
        wait_for(lambda: told.append(capsys.readouterr().err) or any(told))
    assert "".join(told).splitlines()[0] == line_of(HALF, "")
    assert line_of(HALF, "about 1 s left") == (
        "dpcore: fitting: 12 releases, 50% of the budget, about 1 s left"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_hidden_is_not_looked_at(quick, monkeypatch, capsys, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    looked = []
    with Step.shown(lambda: looked.append(1), hidden=True):
        time.sleep(0.1)
    with fit_progress(hidden=True) as on_release:
        assert on_release is None
    assert looked == [] and capsys.readouterr() == ("", "")


def test_a_short_command_tells_no_line(capsys):
    with Step.shown(lambda: HALF, hidden=False):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("hidden", [False, True])
def test_a_bar_of_rounds_looks_at_the_charges(monkeypatch, capsys, hidden):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    charges, looked = Charges(), []
    charges.follow(lambda: looked.append(1) or (1234, 39042, "rounds"))
    with rounds_progress(charges, hidden=hidden):
        pass
    told = capsys.readouterr()
    assert told.out == ""
    assert ("1234/39042" in told.err) == bool(looked) == (not hidden)


def test_releases_are_counted_and_the_filter_seldom_asked():
    asked = []

    class Session:
        @property
        def accountant(self):
            asked.append(1)
            return PureAccountant.from_budget(4.0, 0.0).compose(PureDpEvent(1.0))

    releases = ReleasesMade()
    for _ in range(100):
        releases.on_release(Session())
    assert releases.step is not None and releases.step.words == "1 release, 25% of the budget"
    assert len(asked) < 50


def test_under_a_filter_that_is_charged_with_the_first_release_they_are_counted():
    # It said 100 % of the budget from the first of 400 steps on.
    def schedule(m):
        return {GaussianDpEvent(m): 400}

    planned = PldAccountant.planned(1.0, 1e-6, schedule)
    releases = ReleasesMade()
    releases.on_release(SimpleNamespace(accountant=planned.compose(*dict(planned.plan))))
    assert releases.step == Step("fitting", 1, 400, "1 of 400 releases")
    alone = PldAccountant.from_budget(1.0, 1e-6)
    assert alone.planned_releases() == 0


def test_fits_of_one_budget_tell_the_share_of_all_of_it():
    releases = ReleasesMade()
    releases.on_release(SimpleNamespace(accountant=Budget("gdp", "exact", "mu^2", 8.0, 2.0)))
    assert releases.step is not None and releases.step.words == "1 release, 25% of the budget"


def test_a_file_is_told_by_its_bytes():
    files = FilesRead("reading")
    files.on_bytes("/secret/rows.csv", 1_000_000, 4_000_000)
    assert files.look() == Step("reading rows.csv", 10**6, 4 * 10**6, "1.0 of 4.0 MB read")
    files.on_bytes("-", 1_000_000, None)
    assert files.look() == Step("reading -", 10**6, None, "1.0 MB read")


@pytest.mark.parametrize("quiet", [False, True])
def test_train_tells_public_facts_and_bytes_and_no_count_of_rows(
    quick, run, folder, monkeypatch, quiet
):
    """Nothing is told that is of another form than these two, neither of which counts rows."""
    lines = []
    monkeypatch.setattr(progress, "line_of", lambda step, left: lines.append(step) or "told")
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.001)
    options = ["--data", "rows.csv", "--schema", "schema.toml", "--algo", "dp-gd"]
    done = run("train", *options, "--set", "steps=300", *["--quiet"] * quiet)
    assert done.exit_code == 0, done.stderr
    assert bool(lines) == ("told" in done.stderr) == (not quiet)
    size = os.path.getsize("rows.csv")
    for step in lines:
        if step.name == "reading rows.csv":
            assert (step.total, step.words) == (size, "0.0 of 0.0 MB read")
        else:
            assert step.name == "fitting"
            assert re.fullmatch(r"[\d,]+ releases?, \d+% of the budget", step.words)
