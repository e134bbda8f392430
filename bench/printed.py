"""Lines that scripts here share: options with the script's own help, means with their errors, and
files of results."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from figures.committed import write

__all__ = ["OUT", "keep", "mean_and_error", "parser_of"]

OUT = "a CSV file for the rows, with the commit and the command"
"""Help of ``--out``."""


def parser_of(text: str | None, data: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return a parser with a script's docstring as its help, of ``--epsilon`` and, where there is a
    choice, of ``--data``, both of them repeatable."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=text, formatter_class=raw)
    parser.add_argument("--epsilon", action="append", type=float)
    if data:
        parser.add_argument("--data", action="append", choices=data)
    return parser


def mean_and_error(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, NaN for a single value."""
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), float(error)


def keep(path: Path | None, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of results to a CSV file, if one is named."""
    if path is not None:
        write(path, [{name: str(value) for name, value in row.items()} for row in rows])
