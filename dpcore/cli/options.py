"""Options that mean the same of every command that fits: ``train`` and ``tune``."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "ALGORITHM",
    "BUDGET",
    "DATA",
    "LEDGER",
    "PROBLEM",
    "RUNNING",
    "TARGETS",
    "USERS",
    "Algorithm",
    "Analyst",
    "AsJson",
    "BadRows",
    "Data",
    "LedgerOf",
    "OfRelation",
    "Out",
    "Quiet",
    "RowsPerUnit",
    "SameTable",
    "SchemaFile",
    "Seed",
    "Target",
    "TestFile",
    "Threads",
    "Unit",
    "Use",
]

ALGORITHM, BUDGET, DATA, LEDGER = "Algorithm", "Budget", "Data", "Ledger of the table"
PROBLEM, RUNNING = "Problem and protection", "Run and output"
TARGETS, USERS = "Where epsilon is an output", "Where rows stay with users"
"""Headings of ``--help`` that options stand under."""

Algorithm = Annotated[
    str | None,
    typer.Option(
        help="Algorithm; see dpcore list optimizers. By default auto, which chooses another one.",
        rich_help_panel=ALGORITHM,
    ),
]
Data = Annotated[
    str,
    typer.Option(
        help="Data set's name, file, store, folder of Parquet, or - for stdin.",
        rich_help_panel=DATA,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        help="Schema (TOML) of a file, or the name of a shipped one (dpcore schema --list).",
        rich_help_panel=DATA,
    ),
]
Target = Annotated[
    str | None, typer.Option(help="Label column of a data file.", rich_help_panel=DATA)
]
OfRelation = Annotated[
    str | None,
    typer.Option(
        help="Neighbouring relation: add-or-remove-one, replace-one or replace-special; by default "
        "the algorithm's first (info), which mostly is add-or-remove-one.",
        rich_help_panel=PROBLEM,
    ),
]
Use = Annotated[
    list[str] | None, typer.Option(help="SLOT=NAME, as often as needed.", rich_help_panel=ALGORITHM)
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Use at most so many threads; all processors by default.", rich_help_panel=RUNNING
    ),
]
BadRows = Annotated[
    str,
    typer.Option(
        help="Rows that do not satisfy the schema: refuse or drop. To drop, each line of text is a "
        "row (no line breaks in cells), and the relation is add-or-remove-one.",
        rich_help_panel=DATA,
    ),
]
TestFile = Annotated[
    str | None, typer.Option(help="A second file to test on.", rich_help_panel=DATA)
]
Unit = Annotated[
    str | None,
    typer.Option(
        help="Column that says whose a row is: the guarantee is then for all rows of one value of "
        "it, not for one row. Needs --rows-per-unit; both are also keys of the schema.",
        rich_help_panel=PROBLEM,
    ),
]
RowsPerUnit = Annotated[
    int | None,
    typer.Option(
        help="At most so many rows of each value of --unit are used.", rich_help_panel=PROBLEM
    ),
]
Out = Annotated[Path | None, typer.Option(help="Model file to write.", rich_help_panel=RUNNING)]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Repeatable noise, for tests and figures: not private.", rich_help_panel=RUNNING
    ),
]
LedgerOf = Annotated[
    str | None,
    typer.Option(
        help="Charge the whole budget to this ledger first, a file or postgresql://... (dpcore "
        "ledger init); by default the schema's, or that of DPCORE_LEDGER.",
        rich_help_panel=LEDGER,
    ),
]
Analyst = Annotated[
    str, typer.Option("--as", help="Who runs it, for the ledger.", rich_help_panel=LEDGER)
]
SameTable = Annotated[
    bool,
    typer.Option(
        "--same-table",
        help="Claim that a schema new to the ledger describes the same rows.",
        rich_help_panel=LEDGER,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=RUNNING)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel=RUNNING)
]
