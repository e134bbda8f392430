"""``dpcore explain``: the meaning of epsilon and delta, as odds and attacks, and advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from dpcore.plugin.commands import Option, print_json, print_lines
from dpcore.plugin.parts import exact
from dpcore_accounting.commands.printing import print_table

if TYPE_CHECKING:
    from fractions import Fraction

    from dpcore_report.attack_bounds import Promise
    from dpcore_report.explained import Explained

__all__ = ["explain_command"]


def explain_command(
    epsilon: Annotated[float, Option(help="Epsilon > 0.")] = 1.0,
    delta: Annotated[float, Option(help="0 <= delta < 1.")] = 1e-8,
    rows: Annotated[
        int | None, Option(help="About how many rows the table has, for advice on delta.")
    ] = None,
    relation: Annotated[
        str, Option(help="add-or-remove-one or replace-one.")
    ] = "add-or-remove-one",
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what (epsilon, delta) means, in odds: how sure someone can become of you, how often an
    attack is right, and what to consider when choosing. Every number is a bound, rounded to the
    safe side; with delta > 0, how sure someone becomes is bounded in a game that reveals at least
    as much."""
    from dpcore.errors import InvalidInputError
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import AdditiveAccountant
    from dpcore_report.advice import advice_on
    from dpcore_report.explained import Explained

    AdditiveAccountant.validated_epsilon(epsilon)
    AdditiveAccountant.validated_delta(delta, zero_allowed=True)
    if rows is not None and rows < 1:
        raise InvalidInputError(f"Expected --rows {rows} >= 1.")
    explained = Explained(epsilon, delta, NeighboringRelation.parse(relation))
    advice = advice_on(epsilon, delta, explained.relation, rows)
    if as_json:
        asked = {"epsilon": epsilon, "delta": delta, "neighboring_relation": relation, "rows": rows}
        print_json({**asked, **explained.to_dict(), "advice": advice})
        return
    _print(explained)
    print_lines(*explained.sentences(), *(f"Advice: {text}" for text in advice))


def _print(explained: Explained) -> None:
    from dpcore_report.attack_bounds import percent_up
    from dpcore_report.explained import FALSE_ALARMS, PRIORS

    pair = f"({exact(explained.epsilon)}, {exact(explained.delta)})-differential privacy"
    beliefs = [
        (percent_up(prior), _range(explained.presence, prior), _range(explained.value, prior))
        for prior in PRIORS
    ]
    print_table(
        f"{pair}, {explained.relation.value}: how sure someone can become",
        ("sure beforehand", "that you are in the table", "that your row has a certain value"),
        beliefs,
    )
    print_table(
        "A test that names those who are in the table",
        ("wrongly named, at most", "rightly named, at most"),
        [(percent_up(share), percent_up(explained.caught(share))) for share in FALSE_ALARMS],
    )


def _range(promise: Promise, prior: Fraction) -> str:
    from dpcore_report.attack_bounds import percent_down, percent_up

    return f"{percent_down(promise.least_sure(prior))} to {percent_up(promise.surest(prior))}"
