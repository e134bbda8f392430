"""The report of ``dpcore train`` in the terminal."""

from __future__ import annotations

import itertools
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

from dpcore.cli.terminal.printing import print_json, print_lines
from dpcore.cli.terminal.streams import was_told
from dpcore.fitting.steps.exact_figures import exact_figures
from dpcore.losses.words import shown_loss
from dpcore.model.shown import sections_in_words, shown_bounds

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.fitting.training import Training

__all__ = ["tell_training"]

_NO_TEST = {
    True: "No test asked for; --test-fraction 0.2 holds rows out and reports on them.",
    False: "No test asked for; --test FILE reports on the rows of another file.",
}
"""By whether this process has the rows trained on."""
_DROPPED = (
    "Rows outside the schema were dropped, uncounted; --bad-rows refuse (of convert, for a store) "
    "shows the owner the first."
)


def tell_training(
    training: Training, out: Path | None, ledger: str | None, *, as_json: bool, quiet: bool
) -> None:
    """Print what came out of a run, and what to be careful of.

    ``out`` : the model's file. ``ledger`` : that of the table; ``None`` where it has none.
    """
    if as_json:
        print_json(training.report())
    elif not quiet:
        _print(training, out, ledger)
        if training.rows_dropped:
            print_lines(_DROPPED, err=True)
    if not quiet:
        for caution in itertools.filterfalse(was_told, training.cautions()):
            print_lines(f"dpcore: warning: {caution}", err=True)


def _print(training: Training, out: Path | None, ledger: str | None) -> None:
    report = training.report()
    counted = {"n_train": "rows", "units_train": "units"}
    rows = "".join(f", {report[key]} {what}" for key, what in counted.items() if key in report)
    data = report["data"] + (f" where {report['part']}" if "part" in report else "")
    releases = ", ".join(f"{count} {kind}" for kind, count in report["releases"].items())
    lines = [
        f"Fitted {report['algo']} on {data}{_each(report)}: {_loss(report)} loss, l2 "
        f"{report['l2']:g}, {report['n_features']} features{rows}.",
        *_chosen(report),
        f"Rows: {report['scaling']}",
        *_released(training),
        f"Coefficients of norm {report['coef_norm']:.4g}; releases: {releases or 'none'}.",
        f"Status: {report['status']}",
        f"Privacy: {training.model.privacy['sentence']}",
        *_counted(training),
    ]
    if ledger is not None:
        lines.append(_charged(training, ledger))
    lines += sections_in_words(training.model)
    lines += _diagnosed(training)
    lines.append(f"Model: {out}" if out else "Model: not kept; --out model.json writes it.")
    print_lines(*lines)


def _counted(training: Training) -> list[str]:
    """Return what was spent, and the epsilon of the outcome where there is one."""
    report, lines = training.report(), []
    if report.get("ex_post_epsilon") is not None:
        void = "" if report["private"] else " (void: this run is NOT private)"
        lines.append(
            f"Ex-post epsilon of this outcome{void}: {_up(report['ex_post_epsilon'])}; worst case "
            f"agreed to beforehand{void}: epsilon = {report['epsilon']!r}."
        )
    if training.model.algo["parameters"] is not None:
        lines.append(
            f"Book-keeping: {report['spent']:.4g} of {report['budget']:.4g} {report['unit']} "
            f"charged by {report['accountant']} ({report['conversion']})."
        )
    return lines


def _diagnosed(training: Training) -> list[str]:
    """Return figures of rows that were computed without privacy, or why there are none."""
    if training.diagnostics:
        told: list[str] = exact_figures().exact_in_words(training.diagnostics)
        return told
    lines = []
    if training.generated is not None:
        figure = f"{training.generated['test_accuracy']:.2%}"
        lines.append(f"Accuracy on these rows: {figure} (they are generated, so no secret).")
        lines += filter(None, (training.generated["verdict"],))
    if training.model.evaluation is None:
        lines.append(_NO_TEST[training.at_hand])
    return lines


def _loss(report: dict[str, Any]) -> str:
    weights = report.get("class_weights"), report.get("weight_bound")
    return shown_loss(report["loss"], report["loss_parameters"], *weights)


def _each(report: dict[str, Any]) -> str:
    return "" if report["multiclass"] is None else ", each class against the rest"


def _chosen(report: dict[str, Any]) -> list[str]:
    by = report["chosen_by"]
    return [f"Chosen by {by['name']}: {by['why']}."] if by else []


def _released(training: Training) -> list[str]:
    shown = shown_bounds(training.model)
    return [f"Bounds released: {shown}."] if shown else []


def _charged(training: Training, ledger: str) -> str:
    reference = training.model.privacy.get("ledger")
    if reference is None:
        return f"Ledger: {ledger} lists this run as outside, without a guarantee."
    return f"Ledger: run {reference['run']} of {ledger}; dpcore ledger show says what remains."


def _up(epsilon: float) -> str:
    """Return four digits, rounded up."""
    return str(+Decimal(epsilon).normalize(Context(prec=4, rounding=ROUND_CEILING)))
