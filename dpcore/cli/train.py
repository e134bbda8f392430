"""``dpcore train``: from a table to a private model and its statement."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcore.cli import options
from dpcore.cli.fit_options import FitOptions
from dpcore.cli.step_options import targets_asked, with_step_options
from dpcore.registry.commands import Option

__all__ = ["modules_for_good", "train_command"]


@partial(with_step_options, kinds=("optimizer", "step", "reader"))
def train_command(
    algo: options.Algorithm = None,
    data: options.Data = "census-sim",
    schema: options.SchemaFile = None,
    schema_from_data: Annotated[
        bool,
        typer.Option(
            "--schema-from-data",
            help="Read bounds and categories off the rows: leaks.",
            rich_help_panel=options.DATA,
        ),
    ] = False,
    target: options.Target = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss; see dpcore list losses. By default logistic for two classes, softmax for "
            "more, ridge for a number.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = None,
    multiclass: Annotated[
        str | None,
        typer.Option(
            help="ovr: fit each of three classes or more against the rest, all within the budget, "
            "by algorithms and losses of two classes. By default one fit of all.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="Weight of the regulariser, >= 0; 0 or the algorithm's own by default.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy budget: epsilon > 0; 1 if not given.", rich_help_panel=options.BUDGET
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(
            help="Privacy budget: 0 <= delta < 1; 0: pure.", rich_help_panel=options.BUDGET
        ),
    ] = 1e-8,
    rho: Annotated[
        float | None,
        typer.Option(
            help="In place of epsilon: a budget of zCDP; epsilon at --delta follows.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(
            help="In place of epsilon: a budget of Gaussian DP; epsilon at --delta follows.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    epsilon_max: Annotated[
        float | None,
        typer.Option(
            help="Where epsilon is an output: the worst case agreed to; 5 if not given.",
            rich_help_panel=options.TARGETS,
        ),
    ] = None,
    relation: options.OfRelation = None,
    accountant: Annotated[
        str | None,
        typer.Option(
            help="Accountant; the algorithm's own by default (dpcore info).",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    conversion: Annotated[
        str | None,
        typer.Option(
            help="The accountant's rule from (epsilon, delta) to its unit.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            envvar="DPCORE_ENGINE",
            help="What sums over the rows: an engine of dpcore list, or NAME:ADDRESS.",
            rich_help_panel=options.RUNNING,
        ),
    ] = "local",
    threads: options.Threads = None,
    use: options.Use = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="KEY=VALUE, or loss.KEY=VALUE; repeatable.",
            rich_help_panel=options.ALGORITHM,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="A named set of parameters.", rich_help_panel=options.ALGORITHM),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Run the authors' code as it is: marked not private.",
            rich_help_panel=options.ALGORITHM,
        ),
    ] = False,
    bad_rows: options.BadRows = "refuse",
    users: Annotated[
        Path | None,
        typer.Option(
            help="Where rows stay with users: a CSV file of user, epsilon, delta and, if wanted, "
            "rows. Without it each user has --epsilon and --delta.",
            rich_help_panel=options.USERS,
        ),
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option(
            help="What the server of users sees: local by default.", rich_help_panel=options.USERS
        ),
    ] = None,
    test: options.TestFile = None,
    unit: options.Unit = None,
    rows_per_unit: options.RowsPerUnit = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column of a file with a weight >= 0 of each row, private as the row, which its "
            "loss is multiplied by. The schema need not list it.",
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
    part: Annotated[
        str | None,
        typer.Option(
            help="COLUMN=LEVEL: train on these rows alone. In a ledger, runs on parts by one "
            "column cost together what the most expensive costs, not the sum.",
            rich_help_panel=options.LEDGER,
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    of_steps: Any,
) -> None:
    """Fit a private linear model."""
    fit = FitOptions(locals())
    with modules_for_good():
        from dpcore.cli.training import trained
    settings = fit.settings(
        loss,
        {
            "schema_from_data": schema_from_data,
            "part": part,
            "weight": weight,
            "weight_bound": weight_bound,
        },
        l2=l2,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        epsilon_max=epsilon_max,
        targets=targets_asked(of_steps),
        accountant=accountant,
        conversion=conversion,
        engine=engine,
        params=Option.assigned(assignments, "--set"),
        preset=preset,
        as_published=as_published,
        users=users,
        trust=trust,
        weight_bound=weight_bound,
        multiclass=multiclass,
    )
    fit.run(partial(trained, settings, as_json=as_json, quiet=quiet))


@contextmanager
def modules_for_good() -> Iterator[None]:
    """Keep Python's collector of cycles from what is imported meanwhile, then and later.

    It would go through more than a hundred thousand objects whenever they had grown by a quarter,
    and again during the fit. What is made afterwards is collected as ever.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
