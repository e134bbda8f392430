"""A comparison's means in the terminal, as Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcore.plugin.commands import print_lines
from dpcore.plugin.parts import exact
from dpcore_accounting.commands.printing import print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcore_lab.compare.results import Results
    from dpcore_lab.compare.table import Mean

__all__ = ["print_summary", "report_of"]


def print_summary(results: Results, means: Sequence[Mean], measure: str, *, markdown: bool) -> None:
    """Print a table for each data set, what is to be known of its fits, and what the metrics are
    and are not."""
    from dpcore_lab.compare.best import best_lines
    from dpcore_lab.compare.notes import notes_of
    from dpcore_lab.compare.settings import STATEMENT, loss_in_words
    from dpcore_lab.compare.table import INTERVAL, MEASURES, means_of, measures_beside, tables_of

    settings = results.settings
    repeats = settings["repeats"]
    asked = (
        f"delta {exact(settings['delta'])}, {settings['relation']}, {loss_in_words(settings)}, "
        f"{settings['folds']} folds, {repeats} repeat{'s' * (repeats > 1)}"
    )
    beside = measures_beside(results.rows, measure)
    shown = {measure: means, **{name: means_of(results.rows, name) for name in beside}}
    tables = ((name, *table) for name in shown for table in tables_of(shown[name]))
    for name, data, heads, rows in tables:
        title = f"{data}: {MEASURES[name]}, {asked}"
        if markdown:
            print_lines(title, "", *map(_line, (heads, ["---"] * len(heads), *rows)), "")
        else:
            print_table(title, heads, rows)
    notes = [*notes_of(results.rows, means, settings.get("params")), *_of_weights(settings)]
    print_lines(*notes, f"Metrics: {INTERVAL}.", STATEMENT)
    if settings["seed"] is not None:
        print_lines("The noise came from a seed: no fit is private.")
    print_lines(*best_lines(means, measure))


def report_of(results: Results, measure: str) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    from dpcore_lab.compare.best import best_of
    from dpcore_lab.compare.notes import notes_of
    from dpcore_lab.compare.settings import STATEMENT
    from dpcore_lab.compare.table import INTERVAL, means_of, measures_beside

    means = means_of(results.rows, measure)
    beside = measures_beside(results.rows, measure)
    return {
        "settings": dict(results.settings),
        "statement": STATEMENT,
        "measure": measure,
        "interval": INTERVAL,
        "means": [asdict(mean) for mean in means],
        **{f"means_of_{name}": [*map(asdict, means_of(results.rows, name))] for name in beside},
        "best": [asdict(best) for best in best_of(means, measure)],
        "notes": [
            *notes_of(results.rows, means, results.settings.get("params")),
            *_of_weights(results.settings),
        ],
        "failures": [
            {key: row[key] for key in ("data", "algorithm", "epsilon", "fold", "repeat", "message")}
            for row in results.rows
            if row["status"] == "failed"
        ],
    }


def _of_weights(settings: Mapping[str, Any]) -> Iterator[str]:
    if settings.get("weight_bound") is not None:
        yield (
            "Rows weigh in fits, and in the objective of the training rows; in metrics of the test "
            "rows each counts once."
        )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
