"""``dpcore train``: from a table to a private model and its statement."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli import options
from dpcore.cli.assignments import assigned
from dpcore.cli.interrupts import ended_as_interrupted
from dpcore.cli.modules import modules_for_good
from dpcore.cli.printing import print_json
from dpcore.cli.steps import fit_progress, rounds_progress
from dpcore.cli.streams import tell_outlook
from dpcore.cli.train_report import tell_training
from dpcore.errors import TargetNotMetError, advised_on_bad_rows
from dpcore.fitting.class_weights import parsed_weights
from dpcore.fitting.plan import make_plan
from dpcore.fitting.settings import Settings, has_units
from dpcore.model.file import check_replaceable
from dpcore.model.outfile import check_writable, refuse_inputs
from dpcore.session.charges import Charges

__all__ = ["train_command"]

_ADVICE = "Or --bad-rows drop leaves such rows out."


def train_command(
    algo: options.Algorithm = "auto",
    data: options.Data = "census-sim",
    schema: options.SchemaFile = None,
    schema_from_data: Annotated[
        bool,
        typer.Option("--schema-from-data", help="Read bounds and categories off the rows: leaks."),
    ] = False,
    private_bounds: Annotated[
        bool, typer.Option("--private-bounds", help="Release the bounds that the schema lacks.")
    ] = False,
    target: options.Target = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss; see dpcore list losses. By default, as the label has two classes, more, or "
            "is a number: logistic, softmax or ridge."
        ),
    ] = None,
    multiclass: Annotated[
        str | None,
        typer.Option(
            help="ovr: of three classes or more a fit of each against the rest, all within the "
            "budget, for algorithms and losses of two classes. One fit of all by default."
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(help="Weight of the regulariser, >= 0; 0 or the algorithm's own by default."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Privacy budget: epsilon > 0; 1 if not given.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Privacy budget: 0 <= delta < 1; 0: pure.")] = 1e-8,
    rho: Annotated[
        float | None,
        typer.Option(help="In place of epsilon: a budget of zCDP; epsilon at --delta follows."),
    ] = None,
    mu: Annotated[
        float | None, typer.Option(help="In place of epsilon: a budget of Gaussian DP, likewise.")
    ] = None,
    epsilon_max: Annotated[
        float | None,
        typer.Option(help="Where epsilon is an output: the worst case agreed to; 5 if not given."),
    ] = None,
    target_accuracy: Annotated[
        float | None, typer.Option(help="Share of training rows to classify right.")
    ] = None,
    target_excess_risk: Annotated[
        float | None, typer.Option(help="Largest mean objective above the minimum.")
    ] = None,
    target_risk: Annotated[float | None, typer.Option(help="Largest mean objective.")] = None,
    slack: Annotated[
        float | None, typer.Option(help="How far beside its accuracy or risk a model may be.")
    ] = None,
    failure_probability: Annotated[
        float | None, typer.Option(help="Chance that a target is missed unnoticed; 0.1.")
    ] = None,
    release_last: Annotated[
        bool, typer.Option("--release-last", help="Target not met: the last model all the same.")
    ] = False,
    relation: options.OfRelation = None,
    accountant: Annotated[
        str | None, typer.Option(help="Accountant; the algorithm's own by default (dpcore info).")
    ] = None,
    conversion: Annotated[
        str | None, typer.Option(help="The accountant's rule from (epsilon, delta) to its unit.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            envvar="DPCORE_ENGINE",
            help="What sums over the rows: a name of dpcore list, or NAME:ADDRESS.",
        ),
    ] = "local",
    threads: options.Threads = None,
    use: options.Use = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE, or loss.KEY=VALUE; repeatable.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="A named set of parameters.")] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Run the authors' code as it is: marked not private."),
    ] = False,
    bad_rows: options.BadRows = "refuse",
    users: Annotated[
        Path | None,
        typer.Option(
            help="Where rows stay with users: a CSV file of user, epsilon, delta and, if wanted, "
            "rows. --epsilon and --delta for each of them by default."
        ),
    ] = None,
    trust: Annotated[
        str | None, typer.Option(help="What the server of users sees: local by default.")
    ] = None,
    test_fraction: Annotated[
        float | None, typer.Option(help="Hold out rows and report on them, without privacy.")
    ] = None,
    evaluate_share: Annotated[
        float | None,
        typer.Option(
            help="Release figures of the rows held out, for this share of the budget: private, in "
            "the model file. In place of the exact ones."
        ),
    ] = None,
    intervals_share: Annotated[
        float | None,
        typer.Option(
            help="Release sums behind 95 % intervals of the coefficients, for this share of the "
            "budget: dpcore summary shows them."
        ),
    ] = None,
    evaluate_epsilon: Annotated[
        float | None,
        typer.Option(
            help="In place of --evaluate-share: the epsilon of these figures by themselves, at "
            "--delta. It is a part of --epsilon, not beside it."
        ),
    ] = None,
    test: options.TestFile = None,
    unit: options.Unit = None,
    rows_per_unit: options.RowsPerUnit = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            help="CLASS=NUMBER,... (1 for others), or balanced: from counts that are released."
        ),
    ] = None,
    largest_weight: Annotated[
        float, typer.Option(help="The most that a balanced weight may come to.")
    ] = Settings.largest_weight,
    out: options.Out = None,
    seed: options.Seed = None,
    ledger: options.LedgerOf = None,
    analyst: options.Analyst = "",
    same_table: options.SameTable = False,
    part: Annotated[
        str | None,
        typer.Option(
            help="COLUMN=LEVEL: train on these rows alone. In a ledger, runs on parts by one "
            "column cost what the dearest part costs, not the sum."
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a private linear model."""
    with modules_for_good():
        from dpcore.fitting.loading import DataRequest
        from dpcore.fitting.run import train
        from dpcore.fitting.table_ledger import LedgerRequest, note_saved
        from dpcore.fitting.usual_loss import loss_of_schemas, schema_of_rows, with_schema

    tell_outlook(quiet)
    rows = data, schema, target, bad_rows, schema_from_data
    request = DataRequest(*rows, test, test_fraction, unit, rows_per_unit, private_bounds, part)
    if loss is None:
        request = with_schema(request)
        schemas = () if multiclass else (schema_of_rows(request),)
        loss = loss_of_schemas(*schemas)
    settings = Settings(
        algo=algo,
        loss=loss,
        l2=l2,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        epsilon_max=epsilon_max,
        targets={
            "target_accuracy": target_accuracy,
            "target_excess_risk": target_excess_risk,
            "target_risk": target_risk,
            "slack": slack,
            "failure_probability": failure_probability,
            "release_last": release_last or None,
        },
        relation=relation,
        accountant=accountant,
        conversion=conversion,
        engine=engine,
        threads=threads,
        use=assigned(use, "--use"),
        params=assigned(assignments, "--set"),
        preset=preset,
        as_published=as_published,
        users=users,
        trust=trust,
        units=has_units(schema, unit, private_bounds),
        class_weight=parsed_weights(class_weight),
        largest_weight=largest_weight,
        evaluate_share=evaluate_share,
        evaluate_epsilon=evaluate_epsilon,
        intervals_share=intervals_share,
        seed=seed,
        multiclass=multiclass,
    )
    if out is not None:
        refuse_inputs(out, {"--data": data, "--schema": schema, "--test": test, "--users": users})
        check_writable(out)
        check_replaceable(out)
    plan = make_plan(settings)
    charges, hidden = Charges(), quiet or as_json
    asks_users = "user-pool" in plan.optimizer.needs
    with ended_as_interrupted(), charges.told():
        try:
            with (
                rounds_progress(charges, hidden=hidden or not asks_users),
                fit_progress(hidden=hidden or asks_users) as on_release,
                advised_on_bad_rows(_ADVICE),
            ):
                of_table = LedgerRequest(ledger, analyst, same_table)
                training = train(plan, request, on_release, charges, of_table)
        except TargetNotMetError as error:
            if as_json:
                print_json(error.report)
            raise
        if out is not None:
            charges.fate = partial(training.model.fate_in, out)
            training.model.save(out)
            note_saved(LedgerRequest(ledger), training.model, out)
        table = of_table.of(training.model.schema)
        tell_training(training, out, table, as_json=as_json, quiet=quiet)
