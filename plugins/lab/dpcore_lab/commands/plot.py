"""``dpcore plot``: the results of a comparison as a table and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dpcore.plugin import InvalidInputError
from dpcore.plugin.commands import Argument, Option, print_lines

__all__ = ["plot_command"]


def plot_command(
    results: Annotated[
        Path, Argument(help="Results file of dpcore compare; or a model's file (.json).")
    ],
    y: Annotated[
        str | None,
        Option(
            help="accuracy, macro_f1 (of several classes), objective or seconds. Default: "
            "accuracy, or objective for a regression."
        ),
    ] = None,
    facet: Annotated[str, Option(help="A panel for each: data or algorithm.")] = "data",
    out: Annotated[Path | None, Option(help="Figure to write: .svg, .png or .pdf.")] = None,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown tables.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Show the results of dpcore compare, or what each column of a model adds.

    The figures of a comparison are diagnostics, computed WITHOUT privacy. On private data, to
    choose by them is itself a release. Of a model, which is released, --out FIGURE draws each
    column in its own unit: numbers as curves, levels as bars. A figure needs matplotlib: pip
    install 'dpcore[plot]'.
    """
    from dpcore.model.outfile import refuse_inputs

    if results.suffix == ".json":
        _draw_model(results, out, quiet=quiet)
        return
    from dpcore_lab.commands.comparison_text import print_summary
    from dpcore_lab.compare.figure import check_facet, check_figure, write_figure
    from dpcore_lab.compare.journal import check_finished
    from dpcore_lab.compare.results import read_results
    from dpcore_lab.compare.table import default_measure, means_of

    check_facet(facet)
    if out is not None:
        refuse_inputs(out, {"RESULTS": results})
        check_figure(out, facet)
    check_finished(results)
    found = read_results(results)
    measure = y or default_measure(found.rows)
    means = means_of(found.rows, measure)
    if out is not None:
        write_figure(out, means, found.settings, measure, facet)
    if not quiet:
        print_summary(found, means, measure, markdown=markdown)
        print_lines(f"Figure: {out}" if out else "No figure asked for; --out figure.svg draws one.")


def _draw_model(model: Path, out: Path | None, *, quiet: bool) -> None:
    """Draw the contributions of a model's columns."""
    from dpcore import load_model
    from dpcore.model.outfile import refuse_inputs
    from dpcore_lab.compare.contributions import write_contributions

    if out is None:
        raise InvalidInputError("Expected --out FIGURE (.svg, .png or .pdf) beside a model.")
    refuse_inputs(out, {"RESULTS": model})
    write_contributions(out, load_model(model))
    if not quiet:
        print_lines(f"Figure: {out}")
