"""Numbers and tables of pages that are those of committed CSV files: what a page says is compared
with the files, or written from them.

    python bench/figures/pages.py            # which differ
    python bench/figures/pages.py --write    # pages with the numbers of the files

A page has a number between `<!--= FILE; KEY; ...; COLUMN -->` and `<!--/-->`. The keys are values
of the first columns of `bench/results/figures/FILE.csv`, or of that file in `bench/results`. A key
with a comma is several, each with its number; `A - B` is the difference of two, whose interval is
the root of the sum of the squares, and `A / B` the ratio. With the column `e^COLUMN` a number is
the exponential.

A table of papers' items, between `<!-- papers: NAME; NAME -->` and `<!-- /papers -->`, has the rows
of the papers of these names in `papers.csv` beside this script. Its cells have numbers as
`{FILE; KEY; ...; COLUMN}`; a row of one cell is a paper, whose first words are its name.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path

from committed import Row, read

__all__ = ["PAGES", "number_of", "filled", "main", "papers_table"]

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "bench" / "results" / "figures"
PAGES = (
    "bench/figures/README.md",
    "docs/papers.md",
    "docs/papers-and-baselines.md",
    "plugins/a-ddp/README.md",
    "plugins/dp-agd/README.md",
    "plugins/rsgd-ar/README.md",
)
_INLINE = re.compile(r"(<!--= (.*?) -->).*?(<!--/-->)", re.DOTALL)
_PAPERS = re.compile(r"(<!-- papers: (.*?) -->\n).*?(<!-- /papers -->)", re.DOTALL)
_BY = {" - ": lambda a, b: a - b, " / ": lambda a, b: a / b}
_SIGNIFICANT = 3


@functools.cache
def _rows(name: str) -> list[Row]:
    path = KEPT / f"{name}.csv"
    return read(path if path.exists() else KEPT.parent / path.name)[1]


def _row(name: str, keys: Sequence[str]) -> Row:
    """Return the row whose first columns are the keys; LookupError if there is none, or more."""
    found = [row for row in _rows(name) if list(row.values())[: len(keys)] == list(keys)]
    if len(found) != 1:
        raise LookupError(f"{name}.csv has {len(found)} rows of {'; '.join(keys)}.")
    return found[0]


def _value(name: str, keys: Sequence[str], column: str) -> tuple[float, float]:
    """Return a number and the half width of its interval, 0 where there is none."""
    for sign, operation in _BY.items():
        place = next((i for i, key in enumerate(keys) if sign in key), None)
        if place is not None:
            both = [
                _value(name, [*keys[:place], key, *keys[place + 1 :]], column)
                for key in keys[place].split(sign)
            ]
            (a, of_a), (b, of_b) = both
            return operation(a, b), math.hypot(of_a, of_b) if sign == " - " else 0.0
    row = _row(name, keys)
    if column.startswith("e^"):
        return math.exp(float(row[column[2:]])), 0.0
    return float(row[column]), float(row.get(f"{column} ±") or 0.0)


def _shown(column: str, value: float, half_width: float) -> str:
    """Return a number of an accuracy with one decimal, of anything else with three digits."""
    digits = 1
    if column != "accuracy":
        size = max(abs(value), 10.0**-_SIGNIFICANT)
        digits = max(0, _SIGNIFICANT - 1 - math.floor(math.log10(size)))
    width = f" ± {half_width:.{digits}f}" if half_width else ""
    # Nothing is shown as -0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}{width}"


def number_of(query: str) -> str:
    """Return the text of `FILE; KEY; ...; COLUMN`."""
    name, *keys, column = (part.strip() for part in query.split(";"))
    every = itertools.product(*(key.split(", ") for key in keys))
    found = [(each, *_value(name, each, column)) for each in every]
    # A difference says which way it is.
    signs = ["+" if value > 0 and any(" - " in key for key in of) else "" for of, value, _ in found]
    shown = (_shown(column, value, width) for _, value, width in found)
    return ", ".join(map("".join, zip(signs, shown, strict=True)))


def papers_table(names: Sequence[str]) -> str:
    """Return the lines of the table of these papers' items, with the numbers of the files.

    LookupError is raised for a name that no paper has.
    """
    with (Path(__file__).parent / "papers.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    of: dict[str, list[list[str]]] = {}
    for row in rows:
        if not any(row[1:]):
            name, row[0] = row[0].partition(" (")[0], f"**{row[0]}**"
            of[name] = []
        of[name].append(row)
    lines = [head, *(row for name in names for row in of[name])]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    text = text.replace("\n", f"\n|{'---|' * len(head)}\n", 1)
    return re.sub(r"\{(.*?)\}", lambda found: number_of(found[1]), text)


def _with_its_table(found: re.Match[str]) -> str:
    return f"{found[1]}\n{papers_table(found[2].split('; '))}\n{found[3]}"


def filled(text: str) -> str:
    """Return the text of a page with the numbers of the files and the table of the papers."""
    text = _INLINE.sub(lambda found: f"{found[1]}{number_of(found[2])}{found[3]}", text)
    return _PAPERS.sub(_with_its_table, text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the pages")
    write, differ = parser.parse_args(arguments).write, 0
    for name in PAGES:
        written = (ROOT / name).read_text()
        right = filled(written)
        for old, new in zip(written.splitlines(), right.splitlines(), strict=False):
            if old != new:
                differ += 1
                print(f"{name}:\n- {old}\n+ {new}")
        if write and written != right:
            (ROOT / name).write_text(right)
    return 0 if write else min(differ, 1)


if __name__ == "__main__":
    raise SystemExit(main())
