"""Units of several rows in words: whose addition, removal or replacement is protected."""

from dataclasses import replace

import pytest

from dpcore.errors import InvalidInputError
from dpcore.privacy.statement import PrivacyStatement
from dpcore.privacy.unit_of_privacy import Units

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
    units=Units("patient_id", 5),
)


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    """The code as it is where the core was installed from a wheel."""
    monkeypatch.setattr("dpcore.privacy.first_party.code_in_words", lambda parts: None)


def test_the_sentence_says_whose_addition_or_removal_is_protected():
    assert STATEMENT.sentence() == (
        "This model is (0.4, 1e-08)-differentially private under add-or-remove-one of all rows of "
        "a value of 'patient_id', as enforced by the zcdp filter (tight conversion). In words: "
        "adding or removing all rows of any one value of 'patient_id', of which at most 5 are "
        "used, changes the probability of any outcome by a factor of at most e^0.4 = 1.50, plus at "
        "most 1e-08."
    )


def test_replacement_and_rows_without_an_id_have_words_too():
    units = Units("id", 1, "row")
    sentence = replace(STATEMENT, relation="replace-one", units=units).sentence()
    expected = (
        "replacing all rows of any one value of 'id' by others (at most one of either) changes"
    )
    assert expected in sentence
    assert "Rows without an id: per row." in sentence
    counted = replace(STATEMENT, n0=900, capacity=4096).sentence()
    assert "n0 = 900, used as the number of rows, counts as public" in counted
    assert "Sums are exact up to capacity = 4096 rows" in counted


def test_the_statement_keeps_the_units_as_data():
    data = STATEMENT.to_dict()
    assert data["unit"] == "rho"  # of the budget, as ever
    assert data["units"] == {
        "column": "patient_id",
        "rows_per_unit": 5,
        "rows_without_an_id": "refused",
    }
    expected = "all rows of one value of 'patient_id', of which at most 5 are used"
    assert data["unit_of_protection"] == expected
    of_rows = replace(STATEMENT, units=None).to_dict()
    assert of_rows["unit_of_protection"] == "one row"
    assert "units" not in of_rows


@pytest.mark.parametrize("k", [0, -1, 8193, 1.0, True, None])
def test_rows_per_unit_is_a_number_of_rows(k):
    with pytest.raises(InvalidInputError, match="rows_per_unit="):
        Units("id", k)


def test_what_becomes_of_rows_without_an_id_is_one_of_two_words():
    with pytest.raises(InvalidInputError, match="refuse or row"):
        Units("id", 1, "pool")
