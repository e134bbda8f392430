"""A guarantee in numbers and sentences, by the library and by ``dpcore explain``."""

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from dpcore.cli import app
from dpcore.plugin import NeighboringRelation
from dpcore_report.advice import advice_on
from dpcore_report.explained import Explained, number_up

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def run(*arguments):
    return CliRunner().invoke(app, ["explain", *map(str, arguments)])


def test_a_value_counts_twice_under_add_or_remove_and_once_under_replace():
    presence, value, *_ = Explained(0.5, 0.0, ADD).sentences()
    assert presence.startswith("Someone who is 50 % sure that you are in the table can become at ")
    assert presence.endswith("at most 62.3 % sure.")
    assert "at most 73.2 % sure of one. Under add-or-remove-one epsilon counts twice" in value
    _, once, *_ = Explained(0.5, 0.0, REPLACE).sentences()
    assert "at most 62.3 % sure of one. Under replace-one epsilon counts once" in once


def test_delta_is_an_exception_in_every_belief_and_grows_with_groups():
    presence, value, attack, several = Explained(0.5, 1e-6, ADD).sentences()
    game = "except with probability 1e-06, in a game that reveals at least as much"
    assert presence.endswith(f"at most 62.3 % sure ({game}).")
    # 1e-6 (1 + e^.5) = 2.6487e-6, rounded up.
    assert (
        "except with probability 2.65e-06, in a game that reveals at least as much). Under" in value
    )
    assert "right at most 62.3 % of the time." in attack
    assert several.startswith("For a person with 5 rows epsilon counts 5 times: 50 % sure becomes")


def test_where_the_coin_is_all_but_certain_no_bound_is_said_to_be_left():
    *_, several = Explained(4.0, 1e-6, ADD).sentences()
    assert several.endswith("50 % sure becomes 100 % (no bound is left).")
    assert "probability about 1" not in "".join(Explained(30.0, 1e-6, ADD).sentences()[1:])


def test_a_known_mu_lowers_attacks_alone():
    loose, tight = Explained(1.0, 1e-6, ADD), Explained(1.0, 1e-6, ADD, mu=Fraction(237, 1000))
    assert tight.sentences()[:2] == loose.sentences()[:2]
    assert "right at most 54.8 % of the time (by the Gaussian noise" in tight.sentences()[2]
    # No larger a mu than the pair itself allows makes a bound larger.
    assert Explained(1.0, 1e-6, ADD, mu=Fraction(9)).guessed() == loose.guessed()


def test_the_numbers_are_on_their_side_of_the_exact_ones():
    told = Explained(0.5, 0.0, ADD).to_dict()
    after = {belief["before"]: belief for belief in told["in_the_table"]["beliefs"]}[0.5]
    with localcontext(prec=50):
        odds = Decimal("0.5").exp()
        exact = Fraction(odds / (1 + odds))
    assert exact <= Fraction(after["after_at_most"]) <= exact + Fraction(1, 10**15)
    assert 0 <= 1 - exact - Fraction(after["after_at_least"]) <= Fraction(1, 10**15)
    assert told["a_value"]["counts_epsilon"] == 2 and told["a_value"]["epsilon"] == 1.0


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 50.0, 1e308])
def test_every_size_has_an_answer_that_is_json(epsilon):
    told = Explained(epsilon, 1e-300, ADD).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e-6, "1e-06"), (0.05, "0.05"), (1.2345e-5, "1.24e-05"), (1.0, "1"), (0.05000001, "0.0501")],
)
def test_a_probability_is_shown_rounded_up(number, text):
    assert number_up(Fraction(number)) == text


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "words"),
    [
        (1.0, 0.0, None, "epsilon = 1 is strong"),
        (3.0, 0.0, None, "between 1 and 10"),
        (11.0, 0.0, None, "next to no protection"),
        (1.0, 1e-8, 50_000, "small enough"),
        (1.0, 1e-6, 50_000, "choose a delta of 1e-07 or less"),
        (1.0, 0.01, 1000, "up to 100 % probability"),
        (1.0, 1e-6, None, "--rows says how far"),
    ],
)
def test_advice_follows_the_numbers(epsilon, delta, rows, words):
    assert any(words in text for text in advice_on(epsilon, delta, ADD, rows))


def test_the_command_prints_tables_sentences_and_advice():
    result = run("--epsilon", 0.5, "--delta", 0, "--rows", 1000)
    assert result.exit_code == 0
    assert "that you are in the table" in result.output and "37.7 % to 62.3 %" in result.output
    assert "26.8 % to 73.2 %" in result.output and "Advice: " in result.output


def test_the_command_prints_json():
    told = json.loads(run("--epsilon", 1, "--delta", 1e-6, "--rows", 50_000, "--json").output)
    assert told["rows"] == 50_000 and told["neighboring_relation"] == "add-or-remove-one"
    assert told["guess_right_at_most"] == pytest.approx(0.7310589, abs=1e-6)
    assert len(told["advice"]) >= 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epsilon", 0), "epsilon=0.0 > 0"),
        (("--delta", 1), "delta=1.0 < 1"),
        (("--rows", 0), "--rows 0 >= 1"),
        (("--relation", "replace"), "no relation 'replace'"),
    ],
)
def test_the_command_refuses_numbers_that_are_none(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2 and words in result.output
