"""``dpcore plot``: the results of a comparison, a model, or a ledger as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from dpcore.plugin import InvalidInputError
from dpcore.plugin.commands import Argument, Option, print_lines

__all__ = ["plot_command"]


def plot_command(
    file: Annotated[
        str,
        Argument(
            help="Results of dpcore compare; a model's file; a ledger's file or address, or what "
            "dpcore ledger show --json printed. Which it is, its content says."
        ),
    ],
    y: Annotated[
        str | None,
        Option(
            help="Of results: accuracy, auc, macro_f1 (of several classes), rmse, mae, r2 (of a "
            "number), objective or seconds. Default: accuracy, or objective for a regression."
        ),
    ] = None,
    facet: Annotated[str, Option(help="Of results: a panel for each: data or algorithm.")] = "data",
    show: Annotated[
        str | None,
        Option(help="Of a model: coefficients, columns or held-out alone. Default: all it has."),
    ] = None,
    out: Annotated[Path | None, Option(help="Figure to write: .svg, .png or .pdf.")] = None,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown tables.")] = False,
    quiet: Annotated[
        bool, Option("--quiet", help="Print nothing but errors, and what --markdown asks for.")
    ] = False,
) -> None:
    """Show results of dpcore compare, a model, or a ledger's budget over time.

    The metrics of a comparison are diagnostics, computed WITHOUT privacy. On private data, to
    choose by them is itself a release. Of a model and of a ledger, which are released, --out
    FIGURE draws: coefficients with intervals, what each column adds in its own unit, calibration
    and ROC curves of a private evaluation; what counted as spent of each budget. A figure needs
    matplotlib: pip install 'dpcore[plot]'.
    """
    from dpcore.plugin.parts import OutFile
    from dpcore_lab.compare.figure import check_facet, check_figure
    from dpcore_lab.compare.journal import check_finished
    from dpcore_lab.pictures.content import kind_of

    check_facet(facet)
    if out is not None:
        OutFile(out).refuse({"FILE": file})
        check_figure(out, facet)
    check_finished(file)
    kind = kind_of(file)
    if kind == "results":
        _refuse("a model", {"--show": show})
        _show_results(file, y, facet, out, markdown=markdown, quiet=quiet)
        return
    asked = {"--y": y, "--markdown": markdown or None}
    _refuse("results", asked | {"--facet": None if facet == "data" else facet})
    if kind == "ledger":
        _refuse("a model", {"--show": show})
    if out is None:
        raise InvalidInputError(
            "Expected --out FIGURE (.svg, .png or .pdf) beside a model or a ledger."
        )
    _draw(file, kind, show, out)
    if not quiet:
        print_lines(f"Figure: {out}")


def _refuse(of: str, options: Mapping[str, object]) -> None:
    """Raise InvalidInputError for an option that is of another kind of file."""
    for name, value in options.items():
        if value is not None:
            raise InvalidInputError(f"{name} is of {of}, which this file is not.")


def _draw(file: str, kind: str, show: str | None, out: Path) -> None:
    """Draw a model or a ledger."""
    from dpcore_lab.pictures.panels import write_pictures

    if kind == "ledger":
        from dpcore_lab.pictures.of_ledger import ledger_picture

        about = "dpcore: the budgets of a ledger over time"
        write_pictures(out, [ledger_picture(file)], about, mode=0o600)  # as the ledger
    else:
        from dpcore_lab.pictures.of_model import model_pictures

        write_pictures(out, model_pictures(file, show), "dpcore: one released model")


def _show_results(
    file: str, y: str | None, facet: str, out: Path | None, *, markdown: bool, quiet: bool
) -> None:
    from dpcore_lab.commands.comparison_text import print_summary
    from dpcore_lab.compare.figure import write_figure
    from dpcore_lab.compare.results import read_results
    from dpcore_lab.compare.table import default_measure, means_of

    found = read_results(file)
    measure = y or default_measure(found.rows)
    means = means_of(found.rows, measure)
    if out is not None:
        write_figure(out, means, found.settings, measure, facet)
    if markdown or not quiet:
        print_summary(found, means, measure, markdown=markdown)
    if not quiet:
        print_lines(f"Figure: {out}" if out else "No figure asked for; --out figure.svg draws one.")
