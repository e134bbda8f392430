"""``dpcore tune``: parameters chosen on the budget, from a public list."""

from __future__ import annotations

import logging
from functools import partial
from typing import Annotated, Any

import typer

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Option

__all__ = ["tune_command"]

_PROBLEM = "Problem and protection"
"""The heading of `--help` that options of the rows stand under."""


def tune_command(
    fit: Annotated[Any, "the options of a fit"],
    candidates: Annotated[
        list[str] | None,
        Option(
            "--candidates",
            help="KEY=VALUE,VALUE,...: l2, or a parameter of the algorithm; repeatable. Every "
            "combination is a candidate.",
        ),
    ] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", hidden=True)] = None,
    loss: Annotated[
        str | None,
        Option(
            help="Loss; see dpcore list losses. By default logistic; of three classes, softmax."
        ),
    ] = None,
    epsilon: Annotated[
        float, Option(help="Privacy budget of the whole search, and of steps beside it.")
    ] = 1.0,
    delta: Annotated[
        float, Option(help="Its delta: 0 <= delta < 1; 0 for --accountant pure.")
    ] = 1e-8,
    search: Annotated[
        str,
        Option(
            help="random: a random number of tries, the best by a private score; list: every "
            "candidate in an equal part of the budget, one chosen privately."
        ),
    ] = "random",
    law: Annotated[
        str,
        Option(
            help="Distribution of the number of tries: geometric, logarithmic, "
            "negative-binomial or poisson."
        ),
    ] = "geometric",
    tries: Annotated[float, Option(help="Mean number of tries, about.")] = 10.0,
    eta: Annotated[
        float | None, Option(help="Shape of --law negative-binomial: above -1, at most 1.")
    ] = None,
    score: Annotated[
        str | None,
        Option(
            help="What models are chosen by: error, the default for classes, or loss, clipped "
            "to [0, 1]."
        ),
    ] = None,
    held_out: Annotated[
        float, Option(help="Share of the rows that are held out of all fits, to score them.")
    ] = 0.2,
    accountant: Annotated[
        str | None,
        Option(
            help="Accountant of each fit: zcdp by default, rdp or pure; for --search list any "
            "of dpcore train's."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        Option(
            help="Column with a weight >= 0 of each row, private as the row, which its loss is "
            "multiplied by, in fits and scores. The schema need not list it.",
            group=_PROBLEM,
        ),
    ] = None,
    weight_bound: Annotated[
        float | None,
        Option(
            help="The public bound that larger weights of rows are cut to.",
            group=_PROBLEM,
        ),
    ] = None,
) -> None:
    """Fit candidates within one budget, and release the best. No progress is shown: it would tell
    how many tries there are."""
    of_rows = {"weight": weight, "weight_bound": weight_bound}
    budget = {"epsilon": epsilon, "delta": delta, "accountant": accountant}
    settings = fit.settings(loss, of_rows, weight_bound=weight_bound, **budget)

    from dpcore_tuning.candidates import grid_of
    from dpcore_tuning.run import tune
    from dpcore_tuning.search import make_search

    made = make_search(
        settings,
        grid_of(_values(candidates or [], assignments or [])),
        kind=search,
        law=law,
        tries=tries,
        eta=eta,
        measure=score,
        held_out=held_out,
    )
    fit.run(partial(tune, made))


def _values(texts: list[str], by_old_name: list[str]) -> dict[str, list[str]]:
    """Return the values of each name, in the order in which they were given."""
    if by_old_name:
        logging.getLogger("dpcore").warning(
            "dpcore: warning: tune --set is called --candidates, and the next version takes that "
            "name alone."
        )
    given = Option.assigned([*texts, *by_old_name], "--candidates")
    if not given:
        raise InvalidInputError(
            "Expected --candidates KEY=VALUE,VALUE,...: the values to choose among."
        )
    found = {key: [value.strip() for value in text.split(",")] for key, text in given.items()}
    for key, several in found.items():
        if not all(several):
            raise InvalidInputError(f"Expected values between the commas of --candidates {key}.")
    return found
