"""``dpcore schema``: a schema to fill in, a shipped one, or how one fits the rows of a file."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Annotated

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Argument, Option, print_lines
from dpcore_accounting.commands.printing import print_bytes
from dpcore_tables.commands.query_options import Query, RowWiseClaim
from dpcore_tables.databases.address import with_query
from dpcore_tables.files.input_paths import name_of, refuse_stdin
from dpcore_tables.schemas.shipped import SHIPPED, is_shipped, shipped_text

__all__ = ["schema_command"]

_WARNING = (
    "the bounds, categories and classes in this schema were read off the rows: they can be values "
    "of single persons, and every model fitted with it is marked not private."
)
_LEAKS = "".join(f"# {line}\n" for line in textwrap.wrap(_WARNING.capitalize(), 96))


def _list_shipped() -> None:
    for name, schema in SHIPPED.items():
        print_lines(f"{name:<{max(map(len, SHIPPED))}}  {schema.summary}")


def _help_keys() -> None:
    from dpcore_tables.schemas.key_reference import reference

    print_bytes(reference())


def schema_command(
    file: Annotated[
        str,
        Argument(
            help="CSV, Parquet or another file of rows, or an address that a reader knows; or the "
            "name of a shipped schema, which is printed."
        ),
    ],
    schema: Annotated[
        Path | None,
        Argument(
            help="With --check: the schema (TOML) to hold the rows against, or a shipped one's "
            "name."
        ),
    ] = None,
    target: Annotated[str | None, Option(help="Label column.")] = None,
    from_data: Annotated[
        bool, Option("--from-data", help="Copy bounds and categories off the rows: leaks.")
    ] = False,
    check: Annotated[
        bool,
        Option(
            "--check",
            help="Tell, for each column, the share of cells that the schema clamps, does not know, "
            "or finds empty. Exact, for the owner of the rows: not private, and a schema that is "
            "changed after reading it comes from the data.",
        ),
    ] = False,
    epsilon: Annotated[
        float | None,
        Option(help="With --check: noisy shares, at this budget, which adds to that of fits."),
    ] = None,
    delta: Annotated[
        float | None, Option(help="With --epsilon: 1e-8 if not given; 0: pure.")
    ] = None,
    listed: Annotated[
        bool,
        Option(
            "--list",
            instead=_list_shipped,
            help="List the shipped schemas, whose names do for a path wherever a schema is asked "
            "for and there is no file of that name.",
        ),
    ] = False,
    help_keys: Annotated[
        bool,
        Option(
            "--help-keys",
            instead=_help_keys,
            help="Explain all keys of a schema: kinds of column, empty cells, crosses, wildcards.",
        ),
    ] = False,
    codebook: Annotated[
        Path | None,
        Option(
            help="Fill in types, bounds and labels of columns from a codebook: CSV or TOML of "
            "column, type, lower, upper and labels, Frictionless' Table Schema, or CSVW."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        Option(help="Columns that are not used, as in 'id,*sq': names, a * for any text."),
    ] = None,
    encoding: Annotated[
        str, Option(help="Of a text file that is not UTF-8: its code page, as cp1252.")
    ] = "utf-8",
    interactive: Annotated[
        bool,
        Option(
            "--interactive",
            help="Ask in the terminal what types and codebook leave open. No cell is read.",
        ),
    ] = False,
    query: Query = None,
    row_wise_claim: RowWiseClaim = False,
) -> None:
    """Write a schema template, or check a schema against the rows.

    The template (TOML) goes to standard output.
    """
    file = with_query(file, query, row_wise_claim)
    dropped = [name.strip() for name in ",".join(drop or []).split(",") if name.strip()]
    of_template = codebook or dropped or interactive or encoding != "utf-8"
    if of_template and (check or from_data or is_shipped(file)):
        raise InvalidInputError(
            "Expected --codebook, --drop, --encoding and --interactive for a template alone, "
            "without --check, whose schema says the encoding, and --from-data."
        )
    if check:
        _check(file, schema, target, from_data, epsilon, delta)
        return
    if (schema, epsilon, delta) != (None, None, None):
        raise InvalidInputError("Expected a second file, --epsilon and --delta with --check only.")
    if is_shipped(file):
        _print_shipped(file, target, from_data)
        return
    from dpcore import schema_template
    from dpcore_tables.schemas.from_data import document_from_data

    if interactive:
        from dpcore_tables.commands.schema_questions import asked_schema
        from dpcore_tables.schemas.template import columns_of

        refuse_stdin(file)  # It has the answers.

        print_bytes(asked_schema(target, columns_of(file, codebook, dropped, encoding)))
        return
    if not from_data:
        print_bytes(schema_template(file, target, codebook, dropped, encoding))
        return
    if target is None:
        raise InvalidInputError("Expected --target, the label column, with --from-data.")
    text = document_from_data(file, target)
    print_bytes(f"{_LEAKS}{text}")
    print_lines(f"dpcore: {_WARNING}", err=True)


def _print_shipped(name: str, target: str | None, from_data: bool) -> None:
    if target is not None or from_data:
        raise InvalidInputError(
            f"{name} is a shipped schema, which is complete: leave --target and --from-data out."
        )
    print_bytes(shipped_text(name))


def _check(
    file: str,
    schema: Path | None,
    target: str | None,
    from_data: bool,
    epsilon: float | None,
    delta: float | None,
) -> None:
    if schema is None or target is not None or from_data:
        raise InvalidInputError(
            "Expected --check with the file of rows and the schema alone, as in "
            "`dpcore schema --check rows.csv schema.toml`."
        )
    if delta is not None and epsilon is None:
        raise InvalidInputError("Expected --delta with --epsilon only: exact shares have none.")
    from dpcore import Schema
    from dpcore_tables.commands.schema_check import print_check
    from dpcore_tables.statistics.schema_check import lent_check

    read, asked = Schema.read(schema), 1e-8 if delta is None else delta
    with lent_check(file, read, epsilon, asked) as check:
        print_check(check, name_of(file))
        sys.stdout.flush()
