"""The privacy statement: one sentence that claims neither more nor less than what was enforced."""

from dataclasses import replace

from dpcore.statement import PrivacyStatement, foreign_parts, part_of, running_versions

STATEMENT = PrivacyStatement(
    epsilon=0.4,
    delta=1e-8,
    neighboring_relation="add-or-remove-one",
    accountant="zcdp",
    conversion="tight",
    unit="rho",
    budget=0.01,
    spent=0.009,
    releases={"gradient": 3},
)


def test_the_sentence_of_a_private_model():
    assert STATEMENT.sentence() == (
        "This model is (0.4, 1e-08)-differentially private under add-or-remove-one of a row, as "
        "enforced by the zcdp filter (tight conversion)."
    )


def test_no_digit_of_the_guarantee_is_dropped():
    assert "(0.123456789, 1e-08)" in replace(STATEMENT, epsilon=0.123456789).sentence()
    assert "(2, 0)" in replace(STATEMENT, epsilon=2, delta=0.0).sentence()


def test_foreign_parts_are_named():
    statement = replace(STATEMENT, parts_not_from_dpcore=("thing.losses:Odd",))
    assert statement.private and "thing.losses:Odd" in statement.sentence()
    parts = ("dpcore.losses.logistic:Logistic", "dpcore_dp_agd.x:Y", "dpcorelike:Z", part_of(3))
    assert foreign_parts(parts) == ("builtins:int", "dpcore_dp_agd.x:Y", "dpcorelike:Z")
    assert part_of(foreign_parts) == "dpcore.statement:foreign_parts"


def test_not_private_comes_first_and_says_why():
    statement = replace(STATEMENT, why_not_private=("the noise came from a seed", "another"))
    assert statement.sentence().startswith("NOT PRIVATE: the noise came from a seed; another;")
    assert "is (0.4" not in statement.sentence()
    data = statement.to_dict()
    assert data["private"] is False
    assert data["why_not_private"] == ["the noise came from a seed", "another"]
    assert data["budget"] == 0.01 and "guarantee is epsilon and delta" in data["spent_is"]


def test_versions_name_what_is_installed():
    versions = running_versions("no-such-distribution")
    assert set(versions) == {"python", "dpcore", "numba", "numpy", "no-such-distribution"}
    assert versions["no-such-distribution"] == "unknown"
