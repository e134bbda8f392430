"""``dpcore convert``: a table larger than memory as a store, which ``dpcore train`` maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpcore.errors import DataError, InvalidInputError, advised_on_bad_rows
from dpcore.plugin.commands import Argument, Option, Step, print_lines
from dpcore_tables.commands.query_options import Query, RowWiseClaim
from dpcore_tables.databases.address import with_query

if TYPE_CHECKING:
    from dpcore.plugin.engines import BadRows

__all__ = ["StoresWritten", "convert_command"]

_DROPPED = (
    "Any rows that do not satisfy the schema were left out, and were not counted. --bad-rows "
    "refuse shows the owner the first."
)


def convert_command(
    source: Annotated[
        str,
        Argument(
            help="CSV, Parquet or other file with named columns; a folder or pattern of "
            "Parquet files; - for standard input."
        ),
    ],
    out: Annotated[
        Path,
        Argument(
            help="Store to write, its name ends in .dpcore; with --jobs a new folder, for a store "
            "of each Parquet file."
        ),
    ],
    schema: Annotated[
        Path | None,
        Option(
            help="Schema (TOML) of the file, or the name of a shipped one (dpcore schema --list)."
        ),
    ] = None,
    bad_rows: Annotated[
        str,
        Option(
            help="Rows that do not satisfy the schema: refuse or drop. To drop, each line of text "
            "is a row (no line breaks in cells), and fits are under add-or-remove-one."
        ),
    ] = "refuse",
    threads: Annotated[
        int | None, Option(min=1, max=65536, help="Use at most so many threads to read.")
    ] = None,
    jobs: Annotated[
        int | None,
        Option(min=1, help="Write a folder, so many of its stores at a time."),
    ] = None,
    quiet: Annotated[bool, Option("--quiet", help="Print nothing but errors.")] = False,
    query: Query = None,
    row_wise_claim: RowWiseClaim = False,
    unit: Annotated[
        str | None,
        Option(help="Column of ids: all rows of one id are protected together (schema: unit)."),
    ] = None,
    rows_per_unit: Annotated[
        int | None, Option(help="At most so many rows of one id are kept; needed with units.")
    ] = None,
    weight: Annotated[
        str | None,
        Option(help="Column of weights to keep, for dpcore train --weight of the store."),
    ] = None,
) -> None:
    """Convert a file of rows to a store for tables larger than memory.

    Then train with --data OUT; the store keeps the schema. It holds every row that the file holds,
    of a unit rows_per_unit at most: it is as private as the file is. A store of that name is
    replaced when the new one is whole; until then the rows are beside it in .OUT.partial, which a
    killed conversion leaves behind and the next one removes.
    Partitions for --engine dask: --jobs 4 makes a folder of stores, of a folder of Parquet files.
    """
    from dpcore import Schema
    from dpcore.plugin.parts import OutFile
    from dpcore_tables.files.formats import store_of
    from dpcore_tables.files.input_paths import is_there
    from dpcore_tables.files.read_progress import watched
    from dpcore_tables.files.requested import of_units_and_weights, reading_threads
    from dpcore_tables.store import convert, convert_partitions

    _refuse_jobs(jobs, weight)
    source = with_query(source, query, row_wise_claim)
    OutFile(out).refuse({"SOURCE": source, "--schema": schema})
    if not is_there(source):
        raise DataError(f"No such file: {source}.")
    kept = store_of(source)
    if schema is None and kept is None:
        named = source.partition("?")[0] if query else source
        raise InvalidInputError(
            f"{named} needs a schema of its public bounds and categories: write one from "
            f"`dpcore schema {named} > schema.toml`, fill it in, and name it with --schema."
        )
    own = Schema.read(str(schema)) if kept is None or schema else kept.schema(source)
    read: Any = of_units_and_weights(own, unit, rows_per_unit, weight)
    rows: BadRows = bad_rows  # type: ignore[assignment]
    advised = advised_on_bad_rows("Or --bad-rows drop leaves such rows out.")
    with Step.ended_as_interrupted(), advised:
        if jobs is not None:
            stores = StoresWritten()
            with Step.shown(stores.look, hidden=quiet):
                told = stores.on_store
                convert_partitions(source, out, read, bad_rows=rows, jobs=jobs, on_store=told)
        else:
            files = Step.of_files("converting")
            shown = Step.shown(files.look, hidden=quiet)
            with shown, watched(files.on_bytes), reading_threads(threads):
                convert(source, out, read, bad_rows=rows, weight=weight)
    if bad_rows == "drop" and not quiet:
        print_lines(_DROPPED, err=True)
    if not quiet:
        what = "Store" if jobs is None else "Stores"
        print_lines(f"{what}: {out} (readable by you only)")


def _refuse_jobs(jobs: int | None, weight: str | None) -> None:
    if jobs is not None and weight is not None:
        raise InvalidInputError(
            "Expected --weight without --jobs: no engine that reads a folder of stores has weights."
        )


class StoresWritten:
    """The stores that a conversion has written, of all that it writes."""

    def __init__(self) -> None:
        self.step: Step | None = None

    def on_store(self, done: int, total: int) -> None:
        """Take note of the stores written so far."""
        self.step = Step("converting", done, total, f"{done:,} of {total:,} stores")

    def look(self) -> Step | None:
        return self.step
