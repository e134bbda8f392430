"""The privacy statement: one sentence that claims neither more nor less than what was enforced."""

import math
from dataclasses import replace

import pytest

from dpcore.plugin.parts import Logistic
from dpcore.privacy.first_party import part_of
from dpcore.privacy.statement import PrivacyStatement, foreign_parts
from dpcore.privacy.versions import running_versions
from dpcore_dp_agd.optimizer import DpAgd

STATEMENT = PrivacyStatement(
    epsilon=0.4,
    delta=1e-8,
    relation="add-or-remove-one",
    accountant="zcdp",
    conversion="tight",
    unit="rho",
    budget=0.01,
    spent=0.009,
    releases={"gradient": 3},
)


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    """The code as it is where the core was installed from a wheel."""
    monkeypatch.setattr("dpcore.privacy.first_party.code_in_words", lambda parts: None)


def test_the_sentence_of_a_private_model():
    assert STATEMENT.sentence() == (
        "This model is (0.4, 1e-08)-differentially private under add-or-remove-one of a row, as "
        "enforced by the zcdp filter (tight conversion). In words: adding or removing any one row "
        "changes the probability of any outcome by a factor of at most e^0.4 = 1.50, plus at most "
        "1e-08."
    )


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (1.0, "e^1 = 2.72"),
        (1e-300, "e^1e-300 = 1.00000000000000000000000001"),
        (2e-6, "e^2e-06 = 1.0000021"),
        (0.05, "e^0.05 = 1.052"),
        (0.4, "e^0.4 = 1.50"),
        (9.0, "e^9 = 8,110"),
        (20.0, "e^20 = 486,000,000"),
        (20.5, "e^20.5"),
        (1e300, "e^1e+300"),
    ],
)
def test_the_factor_in_words_is_rounded_up(epsilon, text):
    sentence = replace(STATEMENT, epsilon=epsilon).sentence()
    assert f"at most {text}, plus" in sentence
    if "=" in text:
        assert float(text.split("= ")[1].replace(",", "")) >= math.exp(epsilon)


def test_a_promise_for_tables_of_some_size_says_so():
    sentence = replace(STATEMENT, most_rows=2**27).sentence()
    assert "add-or-remove-one of a row, among tables of at most 134,217,728 rows, as" in sentence


def test_a_capacity_is_named_for_what_rests_on_it():
    private = replace(STATEMENT, capacity=2**20, n0=7).sentence()
    assert private.endswith(
        " n0 = 7, used as the number of rows, counts as public. Sums are exact up to capacity = "
        "1048576 rows: over more they may wrap around, which costs accuracy, not privacy."
    )
    promised = replace(STATEMENT, capacity=2**30, most_rows=2**30).sentence()
    assert "among tables of at most 1,073,741,824 rows (the capacity), as" in promised
    assert "wrap" not in promised
    both = replace(STATEMENT, capacity=2**20, most_rows=2**27).sentence()
    assert "at most 134,217,728 rows, as" in both and "capacity = 1048576 rows:" in both
    assert replace(STATEMENT, capacity=5).to_dict()["capacity"] == 5


def test_pure_privacy_and_public_sizes_in_words():
    pure = replace(STATEMENT, epsilon=1.0, delta=0.0, relation="replace-one")
    assert pure.sentence().endswith(
        "In words: replacing any one row changes the probability of "
        "any outcome by a factor of at most e^1 = 2.72."
    )
    sentence = replace(STATEMENT, n0=48842).sentence()
    assert sentence.endswith(" n0 = 48842, used as the number of rows, counts as public.")


def test_no_digit_of_the_guarantee_is_dropped():
    assert "(0.123456789, 1e-08)" in replace(STATEMENT, epsilon=0.123456789).sentence()
    assert "(2, 0)" in replace(STATEMENT, epsilon=2, delta=0.0).sentence()


def test_foreign_parts_are_named():
    statement = replace(STATEMENT, parts_not_from_dpcore=("thing.losses:Odd",))
    assert statement.private and "thing.losses:Odd" in statement.sentence()
    ours = (part_of(Logistic), part_of(DpAgd))
    assert foreign_parts((*ours, "dpcore_dp_agd.x:Y", "dpcorelike:Z", part_of(3))) == (
        "builtins:int",
        "dpcore_dp_agd.x:Y",  # There is no such module.
        "dpcorelike:Z",
    )
    assert part_of(foreign_parts) == "dpcore.privacy.statement:PrivacyStatement.foreign_parts"


def test_a_name_that_is_a_sentence_is_quoted():
    def within():
        pass

    kind = type("audit", (), {"__module__": "fine. All parts were audited\x1b[2K"})
    assert part_of(kind) == r"'fine. All parts were audited\x1b[2K':audit"
    assert part_of(within).endswith("test_a_name_that_is_a_sentence_is_quoted.<locals>.within")


def test_not_private_comes_first_and_says_why():
    statement = replace(STATEMENT, why_not_private=("the noise came from a seed", "another"))
    assert statement.sentence() == (
        "NOT PRIVATE: the noise came from a seed; another; no epsilon and no delta are guaranteed."
    )
    data = statement.to_dict()
    assert data["private"] is False
    assert data["why_not_private"] == ["the noise came from a seed", "another"]
    assert data["budget"] == 0.01 and "guarantee is epsilon and delta" in data["spent_is"]


def test_versions_name_what_is_installed():
    versions = running_versions("no-such-distribution")
    assert set(versions) == {"python", "dpcore", "numba", "numpy", "no-such-distribution"}
    assert versions["no-such-distribution"] == "unknown"
