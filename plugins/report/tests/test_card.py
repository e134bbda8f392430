"""A report says of every kind of statement what is true of it, and nothing that is not."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Model, PrivacyStatement, Units
from dpcore_report.card import card_of
from dpcore_report.evaluation.group_metrics import metrics_by_groups
from dpcore_report.evaluation.groups import Groups
from dpcore_report.fitted import fitted_section
from dpcore_report.guarantee import explained_of
from dpcore_report.text import text_of

COLUMNS = {
    "age": {"kind": "numeric", "lower": 17, "upper": 90},
    "town": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "id": {"kind": "drop"},
    "y": {"kind": "label", "classes": ["no", "yes"]},
}
STATEMENT = PrivacyStatement(
    epsilon=0.5,
    delta=1e-6,
    relation="add-or-remove-one",
    accountant="zcdp",
    conversion="tight",
    unit="rho",
    budget=0.25,
    spent=0.125,
    releases={"gradient": 3},
)
USERS = {
    "count": 40,
    "epsilon": [0.25, 0.5],
    "delta": [1e-6, 1e-6],
    "trust_model": "secure-aggregation",
    "server_sees": "sums of a round",
}
SEARCH = {
    "kind": "random",
    "theorem": "Theorem 2",
    "words": "It is the best of a number of fits (Theorem 2).",
}


def model(statement=STATEMENT, columns=COLUMNS, w=(1.0, 0.5, -0.5, 0.25), **changes):
    ledger = ({"kind": "gradient", "mechanism": "Gaussian", "count": 3, "cost": 0.125},)
    facts = {
        "schema": Schema.from_dict({"columns": columns}),
        "loss": "logistic",
        "l2": 0.0,
        "algo": {"name": "stub", "distribution": "dpcore-stub", "version": "9", "engine": "local"},
        "ledger": ledger,
        "status": "Done.",
        "details": {},
        "versions": {"python": "3.11"},
    }
    return Model(w=np.array(w), privacy=statement.to_dict(), **{**facts, **changes})


def said(*arguments, **changes):
    """Return the text of a report, its line breaks as blanks."""
    return " ".join(text_of(card_of(model(*arguments, **changes))).split())


def changed(**changes):
    return replace(STATEMENT, **changes)


CLASSES = {**COLUMNS, "y": {"kind": "label", "classes": ["a", "b", "c"]}}
WIDE = ((1.0, 0.5, -0.5, 0.25),) * 3
BOUNDS = {"columns": ["age"], "share": 0.1}

# Each kind: the statement, changes of the model, what is said, and what must not be.
KINDS = {
    "usual": (
        STATEMENT,
        {},
        [
            "(0.5, 1e-06)-differentially private, add-or-remove-one",
            "50 % sure that you are in the table can become at most 62.3 % sure (except",
            "at most 73.2 % sure of one (except with probability 2.65e-06, in a game that reveals "
            "at least as much). Under add-or-",
            "For a person with 5 rows epsilon counts 5 times",
            "The number of rows is private.",
            "Charged: 0.125 of 0.25 (rho), by the zcdp filter",
            "gradient Gaussian 3 0.125 50 %",
            "normal noise of m times the l2 sensitivity",
            "rho of releases adds up",
            "may be published",
            "A ledger of the table would",
            "age: numeric from 17 to 90",
        ],
        ["NOT PRIVATE", "by the Gaussian noise", "on conditions", "ex-post", "users", "fits"],
    ),
    "a step of somebody's own": (
        changed(steps={"class-counts": {"share": 0.2}}),
        {},
        ["The step class-counts took at most 0.2 of the budget."],
        ["fits"],
    ),
    "pure": (
        changed(delta=0.0, accountant="pure", conversion="basic", unit="epsilon", budget=0.5),
        {},
        ["at most 62.3 % sure.", "epsilons of releases add up"],
        ["except with probability"],
    ),
    "gdp": (
        changed(accountant="gdp", conversion="exact", unit="mu^2", budget=0.0136),
        {},
        [
            "(by the Gaussian noise that the filter allows)",
            "mu^2 of the Gaussians that dominate releases adds up",
        ],
        [],
    ),
    "replace-one": (
        changed(relation="replace-one"),
        {},
        ["Under replace-one epsilon counts once", "of rows is public", "* The number of rows."],
        ["twice epsilon", "73.2 %"],
    ),
    "units, replace-one": (
        changed(relation="replace-one", units=Units("id", 3)),
        {"schema": Schema.from_dict({"columns": COLUMNS, "unit": "id", "rows_per_unit": 3})},
        ["they differ in one value of 'id'. The number of values of 'id' is public."],
        ["number of rows", "Rows without an id"],
    ),
    "large": (
        changed(epsilon=12.0),
        {},
        ["Caution: epsilon = 12 is a factor of e^12: next to no protection"],
        [],
    ),
    "replace-special": (
        changed(relation="replace-special"),
        {},
        ["swapped for one that contributes nothing", "73.2 %"],
        [],
    ),
    "not private: seeded": (
        changed(why_not_private=("the noise came from a seed",)),
        {},
        [
            "NOT PRIVATE: no epsilon and no delta are guaranteed",
            "* the noise came from a seed",
            "Nothing is promised",
            "both are as secret as the rows",
            "It guarantees nothing",
            "By none: what voids the guarantee",
            "Nobody's: there is no guarantee",
        ],
        [
            "62.3 %",
            "may be published",
            "can become",
            "epsilon: 0.5",
            "Nobody:",
            "rho of releases adds up",
        ],
    ),
    "not private: as published": (
        changed(why_not_private=("it ran as published: the losses were not clipped", "seed")),
        {},
        ["* it ran as published: the losses were not clipped", "* seed", "NOT PRIVATE"],
        ["62.3 %", "may be published"],
    ),
    "table ledger": (
        changed(ledger={"id": "5f3a", "run": 3, "entry": 7, "digest": "d" * 64}),
        {},
        ["run 3 of the ledger 5f3a, whose cap is the promise", "Who keeps the ledger: that file"],
        ["A ledger of the table would"],
    ),
    "table ledger, of a model that knows its entry alone": (
        changed(ledger={"id": "5f3a", "run": 7, "digest": "d" * 64}),
        {},
        ["entry 7 of the ledger 5f3a, whose cap is the promise"],
        ["A ledger of the table would"],
    ),
    "units": (
        changed(units=Units("id", 3, "row")),
        {"schema": Schema.from_dict({"columns": COLUMNS, "unit": "id", "rows_per_unit": 3})},
        [
            "that a certain value of 'id' has rows in the table",
            "two possible contents of the rows of one value of 'id'",
            "For a person with 5 values of 'id' epsilon counts 5 times",
            "if one has one value of 'id' more than the other",
            "of which at most 3 are used. Rows without an id: per row.",
            "protects: all rows of one value of 'id'",
            "id: ids of units, no feature",
        ],
        ["that you are in the table", "The unit is one row"],
    ),
    "users": (
        changed(users=USERS, unit="rounds", budget=20, spent=10),
        {},
        [
            "a certain row is among a user's",
            "Two tables of a user are neighbours if one has one row more than the other: the unit "
            "is one row of a user, not the user",
            "* The number of rows of each user.",
            "Trust model secure-aggregation: sums of a round",
            "Each of 40 users has a budget and a filter of their own: epsilon from 0.25 to 0.5",
            "Each user: their rows",
            "who joins a round",
        ],
        ["that you are in the table", "The owner of the rows:", "of rows is private"],
    ),
    "one against the rest": (
        changed(fits=3, accountant="gdp", conversion="exact", unit="mu^2"),
        {"columns": CLASSES, "w": WIDE, "multiclass": "ovr"},
        ["3 fits, one for each class against the rest, had equal parts", "'a', 'b' or 'c'"],
        ["by the Gaussian noise"],
    ),
    "several classes": (
        STATEMENT,
        {"columns": CLASSES, "w": WIDE, "loss": "softmax"},
        ["predicts 'a', 'b' or 'c' by softmax loss"],
        ["had equal parts"],
    ),
    "regression": (
        STATEMENT,
        {"columns": {**COLUMNS, "y": {"kind": "label", "lower": 0, "upper": 9}}, "loss": "squared"},
        ["predicts a number from 0 to 9", "y: label from 0 to 9"],
        [],
    ),
    "bounds released": (
        changed(private_bounds=BOUNDS),
        {},
        [
            "Not the bounds of 'age': they were released within the budget",
            "The bounds of 'age' took 10% of the budget",
            "Bounds released from the rows: age 17 to 90",
        ],
        [],
    ),
    "balanced": (
        changed(balanced={"share": 0.05}),
        {"class_weights": {"no": 1.0, "yes": 3.0}},
        ["Counts of the classes took 5% of the budget"],
        ["* The weights of the classes."],
    ),
    "evaluated": (
        changed(evaluation={"share": 0.1}, intervals={"share": 0.2}),
        {},
        ["Metrics of the model on rows held out took 0.1 of the budget"],
        [],
    ),
    "a part": (
        changed(part="ward=surgery"),
        {},
        [
            "The table is a part of a larger one: the rows of ward=surgery alone.",
            "The table is a part, the rows of ward=surgery alone: no other row was used.",
        ],
        [],
    ),
    "public weights": (
        STATEMENT,
        {"class_weights": {"no": 1.0, "yes": 3.0}, "weight_bound": 2.0},
        ["* The weights of the classes.", "The largest weight of a row, 2; weights are private"],
        ["Counts of the classes took"],
    ),
    "conditions": (
        changed(
            most_rows=1000,
            capacity=1000,
            n0=900,
            typed_by="frame",
            parts_not_from_dpcore=("theirs:Gaussian",),
        ),
        {},
        [
            "private, add-or-remove-one, on conditions that are named below",
            "at most 1,000 rows: the guarantee is for such",
            "n0 = 900, a number of rows in place of the exact one",
            "The types of the columns",
            "Whether these parts, which are not from dpcore, are right: theirs:Gaussian",
            "Gaussian: it is not from dpcore",
        ],
        ["normal noise of m times", "wrap around, which costs accuracy, not privacy. * All"],
    ),
    "capacity": (
        changed(capacity=1000),
        {},
        ["capacity = 1,000 rows; sums over more may wrap around"],
        ["on conditions"],
    ),
    "ex-post": (
        changed(ex_post_epsilon=0.31),
        {},
        ["The ex-post epsilon 0.31 is a function of the outcome, and no guarantee"],
        [],
    ),
    "search": (
        changed(search=SEARCH, unit="epsilon", budget=0.5, spent=0.5, releases={"search": 1}),
        {"ledger": ({"kind": "search", "mechanism": "Search", "count": 1, "cost": 0.5},)},
        [
            "It is the best of a number of fits (Theorem 2).",
            "The search: Theorem 2.",
            "the candidates of the search",
            "Which candidate was chosen is part of what was released",
            "Nobody has the number of fits that the search made",
        ],
        ["Search: it is a plugin's", "algorithm, parameters, loss"],
    ),
    "native budget": (
        changed(native_budget=("rho", 0.01)),
        {},
        ["rho-zCDP with rho = 0.01"],
        [],
    ),
    "cluster": (
        STATEMENT,
        {"algo": {"name": "stub", "engine": "dask"}},
        ["The engine dask: its scheduler and workers held the rows"],
        [],
    ),
    "a plugin's mechanism": (
        STATEMENT,
        {"ledger": ({"kind": "minimum", "mechanism": "Gamma", "count": 1, "cost": 0.25},)},
        [
            "Gamma: noise of density exp(-length), of m times the l2 sensitivity, is 1/m-DP",
            f"(by dpcore-baselines {version('dpcore')}, as it is installed here)",
            "minimum Gamma 1 0.25 100 %",
        ],
        [],
    ),
    "a mechanism that is not registered": (
        STATEMENT,
        {"ledger": ({"kind": "minimum", "mechanism": "Own", "count": 1, "cost": 0.25},)},
        ["Own: it is a plugin's; the theorem is beside its code"],
        [],
    ),
    "list": (
        changed(search={"kind": "list", "theorem": "equal parts", "words": "It is one of 3."}),
        {},
        ["It is one of 3.", "Nobody has the other candidates' models, nor any score"],
        ["number of fits"],
    ),
    "no ledger": (STATEMENT, {"ledger": ()}, ["Releases: 3 gradient."], ["share of the budget"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_statement_says_what_is_true_of_it(kind):
    statement, changes, there, not_there = KINDS[kind]
    text = said(statement, **changes)
    assert [words for words in there if words not in text] == []
    assert [words for words in not_there if words in text] == []


def test_every_field_of_a_statement_is_among_the_kinds():
    # A field that a new kind of run brings has to be spoken of.
    usual = {name: getattr(STATEMENT, name) for name in STATEMENT.__slots__}
    used = {
        name
        for statement, *_ in KINDS.values()
        for name in STATEMENT.__slots__
        if getattr(statement, name) != usual[name]
    }
    always = {"spent", "releases"}
    assert used | always == set(STATEMENT.__slots__)


def test_the_bound_of_a_guess_is_that_of_the_budget_of_the_filter():
    gdp = changed(accountant="gdp", conversion="exact", unit="mu^2", budget=0.04)
    told = card_of(model(gdp)).figures["guess_right_at_most"]
    # Phi(mu / 2) with mu = .2: scipy.special.ndtr(.1)
    assert told == pytest.approx(0.539827837277029, abs=1e-12) and told >= 0.539827837277028
    # The file has the budget rounded down: mu is of what it may have been.
    mu = explained_of(model(gdp).privacy).mu
    assert mu**2 >= Fraction(math.nextafter(0.04, math.inf))


def test_a_card_is_json_and_names_the_file_that_it_is_about():
    card = card_of(model(), digest="abc")
    told = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    assert told["format"] == "dpcore-report" and told["private"] is True
    assert told["statement"] == json.loads(json.dumps(STATEMENT.to_dict()))
    assert "SHA-256 is abc" in text_of(card)
    assert card_of(model(changed(why_not_private=("x",)))).figures == {}


def test_the_theorem_of_an_algorithm_is_that_of_the_version_that_ran():
    algo = {"name": "dp-gd", "distribution": "dpcore-baselines", "version": version("dpcore")}
    assert "dp-gd: composition of Gaussian mechanisms: Dong, Roth & Su" in said(algo=algo)
    other = {**algo, "version": "0.0.0"}
    assert "dp-gd: that version is not installed here." in said(algo=other)


def test_many_columns_are_counted():
    many = {f"x{i}": {"kind": "numeric", "lower": 0, "upper": 1} for i in range(60)}
    text = said(columns={**many, "y": COLUMNS["y"]}, w=[0.5] * 61)
    assert "x39: numeric from 0 to 1 * and 21 more: `dpcore info` lists them" in text


def test_rows_that_are_scaled_down_are_spoken_of():
    assert "none was scaled down" in said()
    schema = Schema.from_dict({"columns": COLUMNS, "row_norm": 1.0})
    assert "Encoded rows longer than 1 were scaled down to that length" in said(schema=schema)


def test_a_relation_that_is_unknown_is_refused():
    with pytest.raises(InvalidInputError, match="no relation 'other'"):
        card_of(model(changed(relation="other")))


def test_control_characters_of_a_file_do_not_reach_a_terminal():
    text = text_of(card_of(model(status="Done.\x1b[2J\rgone\n\nmore")))
    assert "\x1b" not in text and "\r" not in text and r"Done.\x1b[2J\rgone\n\nmore" in text


def test_every_kind_of_column_is_told_with_its_bounds():
    columns = {
        "day": {"kind": "date", "lower": "2015-01-01", "upper": "2024-12-31"},
        "at": {"kind": "date", "lower": "2015-01-01", "upper": "2024-12-31", "parts": ["weekday"]},
        "pay": {"kind": "numeric", "lower": 0.1, "upper": 1e6, "scale": "log"},
        "zip": {"kind": "hashed", "buckets": 4},
        "grade": {"kind": "ordinal", "levels": ["a", "b"]},
        "old": {"kind": "boolean"},
        "size": {"kind": "numeric", "bins": [1, 2]},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    }
    width = len(Schema.from_dict({"columns": columns}).feature_names)
    text = said(columns=columns, w=(0.5,) * width)
    told = (
        "day: date from 2015-01-01 to 2024-12-31",
        # Without its scale, of which nothing else on the page speaks.
        "pay: numeric from 0.1 to 1000000, by its logarithm",
        "at: date from 2015-01-01 to 2024-12-31, with weekday",
        "zip: hashed",
        "grade: ordinal, levels a, b",
        "old: boolean",
        "size: numeric, bins 1.0, 2.0",
    )
    assert [words for words in told if words not in text] == []


def test_metrics_of_groups_are_a_table_and_not_a_list():
    groups = Groups("town", (1, 2), ("Bern", "Basel", "none of these"))
    counts = np.array([[[80.0, 20], [10, 90]], [[30, 20], [30, 20]], [[0, 0], [0, 0]]])
    metrics = metrics_by_groups(counts, groups, ("no", "yes"), (1e-9, 1))
    parts = {part.title: part for part in fitted_section(model(evaluation=metrics)).parts}
    table = parts["Metrics by town"]
    assert table.heads[:3] == ("town", "about rows", "accuracy")
    assert [row[0] for row in table.rows] == ["Bern", "Basel", "none of these"]
    assert table.rows[0][2].startswith("85.0 % [") and table.rows[2][2] == "unknown"
    beside = [item.text for item in parts["Steps beside the fit"].items]
    assert any(text.startswith("Gap in accuracy, Bern over Basel") for text in beside)
    assert not any(text.startswith(("Bern ", "By ")) for text in beside)
    assert "Metrics by town" not in said()
