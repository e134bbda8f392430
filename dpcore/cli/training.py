"""The run of ``train`` or ``tune`` once its options are read, its model's file, and its report.

Imported when a command is run, with all that a run needs.
"""

import itertools
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from functools import partial
from pathlib import Path
from typing import Any

from dpcore.cli.terminal.printing import print_json, print_lines
from dpcore.cli.terminal.steps import fit_progress, rounds_progress
from dpcore.cli.terminal.streams import ended_as_interrupted, was_told
from dpcore.errors import InvalidInputError, TargetNotMetError, advised_on_bad_rows
from dpcore.exact.rounding import exact
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.request.run_request import DataRequest
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.run import Run
from dpcore.fitting.run_ledger import note_saved
from dpcore.fitting.steps.held_out_rows import exact_metrics
from dpcore.fitting.training import Training
from dpcore.model.rendering import shown_loss
from dpcore.registry.catalogue import KINDS, load_registry
from dpcore.registry.tables.optimizer_spec import optimizer_facts
from dpcore.session.charges import Charges
from dpcore.session.trust_boundary import foreign_callables

__all__ = ["run_and_tell", "tell_training", "trained"]

_NOT_OF_THE_ROWS = (
    "The command's training is not of the rows that it was handed: what would be said of its "
    "privacy and its ledger is not known. Return what Run.train(plan, rows) returns."
)
_UP = Context(prec=4, rounding=ROUND_CEILING)
_ADVICE = "Or --bad-rows drop leaves such rows out."


def run_and_tell(
    run: Callable[[DataRequest, Charges, LedgerRequest], Training],
    request: DataRequest,
    given: Mapping[str, Any],
) -> None:
    """Run, write the model's file, if any, and print the report, by the options ``given``.

    Raises InvalidInputError for the training of another request than ``run`` is handed.
    """
    charges, out = Charges(), given["out"]
    of_table = LedgerRequest(given["ledger"], given["analyst"], given["same_table"])
    with ended_as_interrupted(), charges.told():
        with advised_on_bad_rows(_ADVICE):
            # Whatever is trained on these rows is charged, and names who was handed them.
            asked = replace(request, table_ledger=of_table, asked_by=foreign_callables(run))
            training = run(asked, charges, of_table)
            if training.charged_to is not of_table or {*asked.asked_by}.difference(
                training.model.privacy["parts_not_from_dpcore"]
            ):
                raise InvalidInputError(_NOT_OF_THE_ROWS)
        if out is not None:
            charges.fate = partial(training.model.fate_in, out)
            training.model.save(out)
            note_saved(LedgerRequest(of_table.ledger), training.model, out)
        ledger = of_table.of(training.model.schema)
        tell_training(
            training,
            out,
            ledger,
            as_json=given["as_json"],
            quiet=given["quiet"],
            schema=given.get("schema"),
        )


def trained(
    settings: Settings,
    request: DataRequest,
    charges: Charges,
    of_table: LedgerRequest,
    *,
    as_json: bool,
    quiet: bool,
) -> Training:
    """Return a run's outcome; its progress is shown, and the report of a target that was missed."""
    plan, hidden = make_plan(settings), quiet or as_json
    is_answered = bool(optimizer_facts(plan.optimizer).answered_by)
    try:
        with (
            rounds_progress(charges, hidden=hidden or not is_answered),
            fit_progress(hidden=hidden or is_answered) as on_release,
        ):
            return Run.train(plan, request, on_release, charges, of_table)
    except TargetNotMetError as error:
        if as_json:
            print_json(error.report)
        raise


_NO_TEST = {
    True: "The model was not tested; --test-fraction 0.2 holds rows out and tests it on them.",
    False: "The model was not tested; --test FILE tests it on the rows of another file.",
}
"""By whether this process has the rows trained on."""
_DROPPED = (
    "Any rows that do not satisfy the schema were left out, and were not counted. --bad-rows "
    "refuse (of convert, for a store) shows the owner the first."
)


def tell_training(
    training: Training,
    out: Path | None,
    ledger: str | None,
    *,
    as_json: bool,
    quiet: bool,
    schema: Path | None = None,
) -> None:
    """Print what came out of a run, and what to be careful of.

    ``out`` : the model's file. ``ledger`` : that of the table; ``None`` where it has none.
    ``schema`` : the path, or the name, of the schema that was asked for.
    """
    if as_json:
        print_json(training.report())
    elif not quiet:
        _print(training, out, ledger, schema)
        if training.rows_dropped:
            print_lines(_DROPPED, err=True)
    if not quiet:
        for warning in itertools.filterfalse(was_told, training.warnings()):
            print_lines(f"dpcore: warning: {warning}", err=True)


def _print(training: Training, out: Path | None, ledger: str | None, schema: Path | None) -> None:
    report = training.report()
    counted = {"n_train": "rows", "units_train": "units"}
    rows = "".join(f", {report[key]} {what}" for key, what in counted.items() if key in report)
    data = report["data"] + (f" where {report['part']}" if "part" in report else "")
    releases = ", ".join(
        f"{kind} ({count} times)" if count > 1 else kind
        for kind, count in report["releases"].items()
    )
    each = "" if report["multiclass"] is None else ", each class against the rest"
    weights = report.get("class_weights"), report.get("weight_bound")
    loss = shown_loss(report["loss"], report["loss_parameters"], *weights)
    bounds, privacy = training.model.shown_bounds(), training.model.privacy
    lines = [
        f"Fitted {report['algo']} on {data}{each}: {loss} loss, l2 "
        f"{report['l2']:g}, {report['n_features']} features{rows}.",
        *([f"Chosen by {c['name']}: {c['why']}."] if (c := report["chosen_by"]) else []),
        f"Rows: {report['scaling']}",
        *([f"Bounds released: {bounds}."] if bounds else []),
        f"{'Exact' if 'exact answer' in report['releases'] else 'Noisy'} answers released: "
        f"{releases or 'none'}. The coefficients have norm "
        f"{report['coef_norm']:.4g}.",
        f"Status: {report['status']}",
        f"Privacy: {privacy['sentence']}",
        *(_to_check(report, training, schema) if privacy["parts_not_from_dpcore"] else ()),
        *_counted(training),
    ]
    if ledger is not None:
        lines.append(_charged(training, ledger))
    lines += training.model.sections_in_words()
    lines += _diagnosed(training)
    lines.append(f"Model: {out}" if out else "The model was not saved; --out model.json saves it.")
    print_lines(*lines)


def _to_check(report: dict[str, Any], training: Training, schema: Path | None) -> list[str]:
    """Return a line with the commands that check, at the sizes of the run, its parts that are not
    from dpcore: registered ones by their names, what the algorithm met by its own; no line where
    none has such a check, as readers and steps."""
    kept = {e.target: (kind, e.name) for kind in KINDS for e in load_registry().entries(kind)}
    found = {kept.get(p, ("loss", report["algo"])) for p in report["parts_not_from_dpcore"]}
    is_named, model = ("dataset", report["data"]) in kept.values(), training.model
    run = (
        f"{shlex.quote(str((report['data'] if is_named else schema) or 'SCHEMA'))}"
        f"{f' --rows {rows}' if (rows := report.get('n_train', model.privacy['n0'])) else ''} "
        f"--epsilon {exact(report['epsilon'])} --algo {report['algo']} "
        f"--accountant {report['accountant']}"
        f"{''.join(f' --use {slot}={use}' for slot, use in (model.algo['slots'] or {}).items())}"
        f"{'' if report['multiclass'] else ' --loss ' + report['loss']}"
        f"{''.join(f' --set {shlex.quote(each)}' for each in training.given)}"
    )
    told = [
        f"dpcore check {name} --like {run}"
        for kind, name in sorted(found)
        if kind in ("engine", "loss", "mechanism")
    ]
    return [f"To check at this run's sizes: {'; '.join(told)}"][: len(told)]


def _counted(training: Training) -> list[str]:
    """Return what was spent, and the epsilon of the outcome where there is one."""
    report, privacy, lines = training.report(), training.model.privacy, []
    if report.get("ex_post_epsilon") is not None:
        void = "" if report["private"] else " (void: this run is NOT private)"
        lines.append(
            f"Ex-post epsilon of this outcome{void}: "
            f"{_UP.create_decimal(report['ex_post_epsilon']).normalize(_UP)}. The worst case "
            f"agreed to beforehand{void} is epsilon = {exact(report['epsilon'])}."
        )
    if training.model.algo["parameters"] is not None:
        lines.append(
            f"Book-keeping: this run used {report['spent']:.4g} of its budget of "
            f"{report['budget']:.4g}, counted in {report['unit']} "
            f"({'each fit by the ' * ('search' in privacy)}{report['accountant']} accountant, "
            f"{report['conversion']} conversion)."
            f"{' The guarantee is for the whole budget.' if report['private'] else ''}"
        )
    return lines


def _diagnosed(training: Training) -> list[str]:
    """Return metrics of rows that were computed without privacy, or why there are none."""
    if training.diagnostics:
        return list(exact_metrics().exact_in_words(training.diagnostics))
    lines = []
    if training.generated is not None:
        lines.append(
            f"Accuracy on these rows: {training.generated['test_accuracy']:.2%} (they are "
            "generated, so no secret)."
        )
        lines += filter(None, (training.generated["verdict"],))
    if training.model.evaluation is None:
        lines.append(_NO_TEST[training.at_hand])
    return lines


def _charged(training: Training, ledger: str) -> str:
    reference = training.model.privacy.get("ledger")
    if reference is None:
        return f"Ledger: {ledger} lists this run as outside, without a guarantee."
    return f"Ledger: run {reference['run']} of {ledger}; dpcore ledger show says what remains."
