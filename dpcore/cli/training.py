"""The run of ``train`` or ``tune`` once its options are read, its model's file and its report.

Imported when a command is run, with all that a run needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from dpcore.cli.terminal.interrupts import ended_as_interrupted
from dpcore.cli.terminal.printing import print_json
from dpcore.cli.terminal.steps import fit_progress, rounds_progress
from dpcore.cli.train_report import tell_training
from dpcore.errors import TargetNotMetError, advised_on_bad_rows
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.planning.planned import Plan
from dpcore.fitting.planning.usual_loss import loss_of_schemas, schema_of_rows, with_schema
from dpcore.fitting.request.data_request import DataRequest
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.run import train
from dpcore.fitting.table_ledger import note_saved
from dpcore.fitting.training import Training
from dpcore.registry.tables.declarations import optimizer_facts
from dpcore.session.charges import Charges

__all__ = ["fit_and_tell", "run_and_tell", "with_loss"]

_ADVICE = "Or --bad-rows drop leaves such rows out."


def with_loss(
    request: DataRequest, loss: str | None, multiclass: str | None
) -> tuple[DataRequest, str]:
    """Return the request, its schema read where it is needed, and the loss: by the label's kind
    where none is named."""
    if loss is not None:
        return request, loss
    request = with_schema(request)
    return request, loss_of_schemas(*(() if multiclass else (schema_of_rows(request),)))


def fit_and_tell(
    settings: Settings,
    request: DataRequest,
    of_table: LedgerRequest,
    out: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit, write the model's file, if any, and print the report."""
    run = partial(_trained, make_plan(settings), as_json=as_json, quiet=quiet)
    run_and_tell(run, request, of_table, out, as_json=as_json, quiet=quiet)


def run_and_tell(
    run: Callable[[DataRequest, Charges, LedgerRequest], Training],
    request: DataRequest,
    of_table: LedgerRequest,
    out: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run, write the model's file, if any, and print the report."""
    charges = Charges()
    with ended_as_interrupted(), charges.told():
        with advised_on_bad_rows(_ADVICE):
            training = run(request, charges, of_table)
        if out is not None:
            charges.fate = partial(training.model.fate_in, out)
            training.model.save(out)
            note_saved(LedgerRequest(of_table.ledger), training.model, out)
        table = of_table.of(training.model.schema)
        tell_training(training, out, table, as_json=as_json, quiet=quiet)


def _trained(
    plan: Plan,
    request: DataRequest,
    charges: Charges,
    of_table: LedgerRequest,
    *,
    as_json: bool,
    quiet: bool,
) -> Training:
    """Return a run's outcome; its progress is shown, and the report of a target that was missed."""
    hidden = quiet or as_json
    is_answered = bool(optimizer_facts(plan.optimizer).answered_by)
    try:
        with (
            rounds_progress(charges, hidden=hidden or not is_answered),
            fit_progress(hidden=hidden or is_answered) as on_release,
        ):
            return train(plan, request, on_release, charges, of_table)
    except TargetNotMetError as error:
        if as_json:
            print_json(error.report)
        raise
