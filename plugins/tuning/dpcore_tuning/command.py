"""``dpcore tune``: parameters chosen on the budget, from a public list."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any

import typer

from dpcore.cli import options
from dpcore.cli.step_options import steps_asked, with_step_options
from dpcore.cli.terminal.streams import tell_outlook
from dpcore.errors import InvalidInputError
from dpcore.model.file import check_out
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, LedgerRequest, Option
from dpcore.plugin.steps import Phase

__all__ = ["tune_command"]


@with_step_options
def tune_command(
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidates",
            help="KEY=VALUE,VALUE,...: l2, or a parameter of the algorithm; repeatable. Every "
            "combination is a candidate.",
        ),
    ] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", hidden=True)] = None,
    algo: options.Algorithm = None,
    data: options.Data = "census-sim",
    schema: options.SchemaFile = None,
    target: options.Target = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss; see dpcore list losses. By default logistic; of three classes, softmax."
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget of the whole search, and of steps beside it.")
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Its delta: 0 <= delta < 1; 0 for --accountant pure.")
    ] = 1e-8,
    search: Annotated[
        str,
        typer.Option(
            help="random: a random number of tries, the best by a private score; list: every "
            "candidate in an equal part of the budget, one chosen privately."
        ),
    ] = "random",
    law: Annotated[
        str,
        typer.Option(
            help="Distribution of the number of tries: geometric, logarithmic, "
            "negative-binomial or poisson."
        ),
    ] = "geometric",
    tries: Annotated[float, typer.Option(help="Mean number of tries, about.")] = 10.0,
    eta: Annotated[
        float | None, typer.Option(help="Shape of --law negative-binomial: above -1, at most 1.")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="What models are chosen by: error, the default for classes, or loss, clipped "
            "to [0, 1]."
        ),
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="Share of the rows that are held out of all fits, to score them.")
    ] = 0.2,
    relation: options.OfRelation = None,
    accountant: Annotated[
        str | None,
        typer.Option(
            help="Accountant of each fit: zcdp by default, rdp or pure; for --search list any "
            "of dpcore train's."
        ),
    ] = None,
    use: options.Use = None,
    threads: options.Threads = None,
    bad_rows: options.BadRows = "refuse",
    test: options.TestFile = None,
    unit: options.Unit = None,
    rows_per_unit: options.RowsPerUnit = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column with a weight >= 0 of each row, private as the row, which its loss is "
            "multiplied by, in fits and scores. The schema need not list it.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = None,
    weight_bound: Annotated[
        float | None,
        typer.Option(
            help="The public bound that larger weights of rows are cut to.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = None,
    out: options.Out = None,
    seed: options.Seed = None,
    ledger: options.LedgerOf = None,
    analyst: options.Analyst = "",
    same_table: options.SameTable = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    of_steps: Any,
) -> None:
    """Fit candidates within one budget, and release the best. No progress is shown: it would tell
    how many tries there are."""
    from dpcore.cli.training import run_and_tell

    tell_outlook(quiet)
    also = steps_asked(of_steps)
    rows = data, schema, target, bad_rows, False, test, of_steps["test_fraction"], unit
    weights = None, weight, weight_bound
    request = DataRequest(*rows, rows_per_unit, _release_bounds(also), *weights)
    request, loss = request.with_loss(loss)
    settings = Settings(
        algo=Settings.default_algorithm() if algo is None else algo,
        loss=loss,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        accountant=accountant,
        threads=threads,
        use=Option.assigned(use, "--use"),
        units=request.has_units,
        class_weight=Settings.public_weights(of_steps.get("class_weight")),
        weight_bound=weight_bound,
        also=also,
        seed=seed,
    )
    check_out(out, {"--data": data, "--schema": schema, "--test": test})
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
    of_table = LedgerRequest(ledger, analyst, same_table)
    run_and_tell(partial(tune, made), request, of_table, out, as_json=as_json, quiet=quiet)


def _release_bounds(steps: Iterable[Any]) -> bool:
    """Return whether one of the steps releases bounds that a schema lacks."""
    return any(step.phase is Phase.SCHEMA for step in steps)


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
