"""``dpcore plan``: forecasts in words and as JSON."""

import json

import pytest

RIDGE = ("plan", "--features", "30", "--loss", "ridge")
CLASSES = ("plan", "--features", "30")


def forecasts(run, *arguments):
    return json.loads(run(*arguments, "--json").stdout)["forecasts"]


def test_a_target_asks_for_an_epsilon_or_for_rows(run):
    shown = run(*RIDGE, "--rows", "2000", "--target-mse", ".5").stdout
    (found,) = forecasts(run, *RIDGE, "--rows", "2000", "--target-mse", ".5")
    assert f"It takes about 2,000 rows and epsilon = {found['epsilon']:g} to keep" in shown
    assert "no guarantee" in shown and "No data were read, nothing was charged" in shown
    (back,) = forecasts(run, *RIDGE, "--epsilon", found["epsilon"], "--target-mse", ".5")
    assert 1700 <= back["rows"] <= 2000  # the epsilon was rounded up
    assert "the median of public tables" in shown
    lower = (*RIDGE, "--rows", "2000", "--target-mse", ".5", "--nonprivate-mse", ".1")
    assert forecasts(run, *lower)[0]["epsilon"] < found["epsilon"]


def test_rows_and_epsilon_say_what_to_expect(run):
    few = (*CLASSES, "--rows", "300", "--epsilon", ".1", "--classes-share", ".76")
    assert "than a constant prediction. Expect no better." in run(*few).stdout
    (found,) = forecasts(run, *few)
    assert found["kept"] == 0 and found["accuracy"] == pytest.approx(0.76)
    assert found["rows_needed"] > 300
    (many,) = forecasts(run, *few[:4], "100000", *few[5:])
    assert many["kept"] > 0.9 and many["accuracy"] > 0.83


def test_nothing_but_features_prints_a_table(run):
    shown = run(*CLASSES).stdout
    assert (
        "Share of the gain that is kept" in shown and "epsilon 0.1" in shown and "100,000" in shown
    )
    assert "A run takes about 1 MB beside its rows" in shown
    assert json.loads(run(*CLASSES, "--json").stdout)["memory_bytes"] == 30 * 512
    found = forecasts(run, *CLASSES)
    assert len(found) == 24 and "accuracy" not in found[0]
    assert "rows that keep 71% of the gain" in run(*RIDGE, "--target-mse", ".5").stdout
    assert len(forecasts(run, *CLASSES, "--rows", "500")) == 4


def test_a_ridge_regression_is_told_between_what_shares_tables_kept(run):
    (found,) = forecasts(run, *RIDGE, "--rows", "3000", "--epsilon", "1")
    low, high = found["between"]
    assert 0 < low < found["kept"] < high < 1
    shown = run(*RIDGE, "--rows", "3000", "--epsilon", "1").stdout
    assert f"({low:.0%} to {high:.0%})" in shown and "Nine in ten kept a share" in shown
    # Of classes none was measured.
    shown = run(*CLASSES, "--rows", "3000", "--epsilon", "1").stdout
    assert "between" not in shown and "%)" not in shown


def test_units_of_several_rows_take_more_of_them(run):
    one = (*RIDGE, "--epsilon", "1", "--target-mse", ".5")
    units = (*one, "--rows-per-unit", "4")
    assert "One row is protected" in run(*one).stdout
    assert "All rows of a unit, at most 4, are protected together." in run(*units).stdout
    fewer, more = (forecasts(run, *asked)[0]["rows"] for asked in (one, units))
    assert more == pytest.approx(4 * fewer, rel=0.05)
    assert json.loads(run(*units, "--json").stdout)["rows_per_unit"] == 4


def test_a_budget_that_protects_next_to_nothing_is_told(run):
    told = run(*RIDGE, "--rows", "100", "--target-mse", ".31")
    assert "next to no protection" in told.stderr


def test_a_share_that_nothing_keeps_is_said(run):
    told = run(*RIDGE, "--rows", "2", "--target-mse", ".301")
    assert told.stdout.startswith("There is no way to keep")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((*RIDGE, "--rows", "9", "--target-mse", ".2"), "cannot be had at any epsilon"),
        ((*RIDGE, "--rows", "9", "--epsilon", "1", "--target-mse", ".5"), "leave out --epsilon"),
        ((*CLASSES, "--target-accuracy", ".8"), "--classes-share"),
        ((*CLASSES, "--loss", "ridg"), "Did you mean ridge"),
        ((*CLASSES, "--delta", "0"), "delta > 0"),
    ],
)
def test_mistakes_are_one_line(run, arguments, text):
    told = run(*arguments)
    assert told.exit_code == 2 and text in told.stderr
    assert len(told.stderr.splitlines()) == 1
