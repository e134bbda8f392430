"""``dpcore compare``: algorithms on equal terms, over data sets, budgets and folds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Option, Step, print_json, print_lines
from dpcore_lab.commands.option_texts import caps_in, numbers_in, params_in, words_in
from dpcore_lab.commands.progress import FitsMade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore_lab.compare.results import Results
    from dpcore_lab.compare.settings import Comparison

__all__ = ["compare_command"]

_ALL_FAILED = 1
"""No mistake of the caller's: the comparison was made, and of an algorithm it has no metric."""
_STOPPED = 130
"""128 and the number of the interrupt signal, as shells have it."""


def compare_command(
    algos: Annotated[
        str,
        Option(
            help="Algorithms, by commas: NAME, NAME:PRESET, NAME:as-published or an external one; "
            "all for every one installed that fits and is not external."
        ),
    ] = "all",
    data: Annotated[
        str,
        Option(
            help="Data sets, by commas, which count as public benchmarks, or files of your own."
        ),
    ] = "census-sim",
    schema: Annotated[
        Path | None,
        Option(
            help="Schema (TOML) of the files, or the name of a shipped one (dpcore schema --list)."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        Option(
            help="Column of the files with a weight >= 0 of each row, in fits and the objective; "
            "in metrics of test rows each counts once. Without it weights are left out."
        ),
    ] = None,
    weight_bound: Annotated[
        float | None, Option(help="The public bound that larger weights of rows are cut to.")
    ] = None,
    loss: Annotated[
        str | None,
        Option(
            help="Loss; see dpcore list losses. By default logistic; softmax where all labels have "
            "three classes or more, ridge where they are numbers."
        ),
    ] = None,
    multiclass: Annotated[
        str | None,
        Option(help="ovr: fit each of three classes or more against the rest, within the budget."),
    ] = None,
    l2: Annotated[
        float | None,
        Option(
            help="Weight of the regulariser, >= 0; each algorithm's own by default, and 0 in the "
            "objective that is measured."
        ),
    ] = None,
    epsilon: Annotated[
        str, Option(help="Budget of each fit: epsilons, by commas.")
    ] = ".05,.1,.2,.4,.8,1.6",
    delta: Annotated[float, Option(help="Budget of each fit: 0 <= delta < 1; 0: pure.")] = 1e-8,
    relation: Annotated[
        str | None,
        Option(
            help="Neighbouring relation of all: add-or-remove-one, the default where all that are "
            "named have a guarantee under it, or replace-one."
        ),
    ] = None,
    trust: Annotated[
        str | None, Option(help="What the server of users sees: local by default.")
    ] = None,
    folds: Annotated[int, Option(help="Parts that are tested on in turn.")] = 5,
    repeats: Annotated[int, Option(help="Fits of each fold, of new noise.")] = 1,
    assignments: Annotated[
        list[str] | None,
        Option(
            "--set",
            help="ALGORITHM.KEY=VALUE, as often as needed; ALGORITHM as in --algos: NAME or "
            "NAME:PRESET; or loss.KEY=VALUE, for all.",
        ),
    ] = None,
    use: Annotated[
        list[str] | None,
        Option(
            "--use", help="ALGORITHM.SLOT=NAME, as often as needed: what fills a slot, as in train."
        ),
    ] = None,
    jobs: Annotated[
        int, Option(help="Processes, of one thread each; 1: this one, on all processors.")
    ] = 1,
    engine: Annotated[
        str,
        Option(
            envvar="DPCORE_ENGINE",
            help="dask, or dask:ADDRESS: whole fits as tasks of a cluster, whose workers read the "
            "rows; local: this machine's processes.",
        ),
    ] = "local",
    external_caps: Annotated[
        str, Option(help="Most seconds and GiB of memory of a fit by an external algorithm.")
    ] = "600,4",
    out: Annotated[
        Path | None, Option(help="Results file (Parquet); what was interrupted goes on.")
    ] = None,
    plot: Annotated[Path | None, Option(help="Figure to write: .svg, .png or .pdf.")] = None,
    seed: Annotated[
        int | None, Option(help="Repeatable noise, for tests and figures: not private.")
    ] = None,
    quick: Annotated[
        bool,
        Option(
            "--quick",
            help="One repeat, whatever --repeats says, and of the epsilons the smallest and the "
            "largest.",
        ),
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown tables.")] = False,
    quiet: Annotated[
        bool,
        Option("--quiet", help="Print nothing but errors, and what --json or --markdown asks for."),
    ] = False,
) -> None:
    """Compare algorithms with one relation, one loss, the same folds.

    Beside them are a non-private fit and the majority class; --algos nonprivate,majority compares
    those alone. All metrics and seconds are diagnostics, computed WITHOUT privacy, and tell
    how many rows there are: on private data, to choose an algorithm or a parameter by them is
    itself a release, which no budget here covers.
    """
    from dpcore_lab.compare.admission import default_loss, default_relation
    from dpcore_lab.compare.settings import Comparison

    labels, names = words_in(algos), words_in(data)
    _check_asked(names, quiet and not (out or plot or as_json or markdown), as_json and markdown)
    asked = Comparison(
        algorithms=labels,
        data=names,
        epsilons=numbers_in(epsilon, "--epsilon"),
        delta=delta,
        folds=folds,
        repeats=repeats,
        loss=loss or default_loss(names, schema, multiclass),
        l2=l2,
        relation=relation or default_relation(labels),
        schema=None if schema is None else str(schema),
        params=params_in(assignments, "--set"),
        use=params_in(use, "--use"),
        seed=seed,
        trust=trust,
        multiclass=multiclass,
        caps=caps_in(external_caps),
        weight=weight,
        weight_bound=weight_bound,
    )
    asked = asked.quick() if quick else asked
    _check_outputs(out, plot, asked, jobs)

    from dpcore_lab.compare.notes import all_failed

    comparison = _admitted(asked, plot, by_default=not relation, quiet=quiet)
    finished = out is not None and out.is_file()
    results = _run(comparison, out, jobs, engine, hidden=quiet or as_json)
    told = f"Results: {out}" if out else "Results: not saved; --out results.parquet saves them."
    told = f"All fits were in {out}: nothing was fitted." if finished else told
    _tell(results, plot, told, as_json=as_json, markdown=markdown, quiet=quiet)
    if failed := all_failed(results.rows):
        print_lines(f"dpcore: all fits of {', '.join(failed)} failed.", err=True)
        raise SystemExit(_ALL_FAILED)


def _check_asked(names: Sequence[str], keeps_nothing: bool, in_two_forms: bool) -> None:
    """Refuse databases, and options of what is printed that contradict each other."""
    from dpcore_lab.compare.data_rows import refuse_queries

    refuse_queries(names)
    if in_two_forms:
        raise InvalidInputError("Expected --json or --markdown, not both.")
    if keeps_nothing:
        raise InvalidInputError(
            "--quiet keeps nothing without --out, --plot, --json or --markdown."
        )


def _admitted(asked: Comparison, plot: Path | None, *, by_default: bool, quiet: bool) -> Comparison:
    """Return the comparison of what can be compared, and say what is left out.

    ``by_default`` : whether nobody named its relation.
    """
    from dpcore_lab.compare.admission import admit, default_relation
    from dpcore_lab.compare.notes import left_out_for

    comparison, left_out = admit(asked)
    if plot is not None and not comparison.algorithms:
        raise InvalidInputError("--plot draws against epsilon, which the references do not take.")
    if by_default and not quiet and asked.relation != default_relation(()):
        print_lines(
            f"dpcore: comparing under {asked.relation}, which all of these algorithms have; not "
            f"all have {default_relation(())}.",
            err=True,
        )
    for line in () if quiet else left_out_for(left_out):
        print_lines(f"dpcore: left out {line}", err=True)
    return comparison


def _tell(
    results: Results, plot: Path | None, kept: str, *, as_json: bool, markdown: bool, quiet: bool
) -> None:
    """Print the results and draw them. ``kept`` : a line on where they are."""
    from dpcore_lab.compare.table import default_measure, means_of

    measure = default_measure(results.rows)
    means = means_of(results.rows, measure)
    if as_json:
        from dpcore_lab.commands.comparison_text import report_of

        print_json(report_of(results, measure))
    elif markdown or not quiet:
        from dpcore_lab.commands.comparison_text import print_summary

        print_summary(results, means, measure, markdown=markdown)
        if not quiet:
            print_lines(kept)
    if plot is not None:
        from dpcore_lab.compare.figure import write_figure

        write_figure(plot, means, results.settings, measure)
        if not (quiet or as_json):
            print_lines(f"Figure: {plot}")


def _check_outputs(out: Path | None, plot: Path | None, asked: Comparison, jobs: int) -> None:
    """Refuse, before anything is read, a file that cannot be written or would be lost, and less
    than one process."""
    from dpcore.plugin.parts import OutFile

    if jobs < 1:
        raise InvalidInputError(f"Expected jobs={jobs} >= 1.")
    inputs = {"--schema": asked.schema, **{f"--data {name}": name for name in asked.data}}
    if out is not None:
        from dpcore_lab.compare.runner import check_out

        OutFile(out).refuse(inputs)
        check_out(out)
    if plot is not None:
        from dpcore_lab.compare.figure import check_figure

        if out is not None and plot.resolve() == out.resolve():
            raise InvalidInputError("Expected two files for --out and --plot.")
        OutFile(plot).refuse(inputs)
        check_figure(plot)


def _run(
    comparison: Comparison, out: Path | None, jobs: int, engine: str, *, hidden: bool
) -> Results:
    from dpcore_lab.compare.runner import run
    from dpcore_tables.files.read_progress import watched

    fits = FitsMade()
    try:
        watch = watched(fits.reading.on_bytes)
        with Step.ended_as_interrupted(), watch, Step.shown(fits.look, hidden=hidden):
            return run(comparison, out, jobs, fits.on_row, engine)
    except KeyboardInterrupt as stop:
        kept = "nothing was kept, for want of --out"
        if out is not None:
            kept = f"the fits that were done are in {out}.journal; the same command goes on"
        print_lines(f"dpcore: stopped; {kept}.", err=True)
        raise SystemExit(_STOPPED) from stop
