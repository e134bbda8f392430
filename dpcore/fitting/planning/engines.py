"""The engine of a fit: by its name, over rows at hand or over files that it reads itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from dpcore.data.loader import file_loader
from dpcore.errors import InvalidInputError
from dpcore.fitting.rows.loading import Data
from dpcore.fitting.rows.unbounded import dry_run_rows
from dpcore.registry.tables.optimizer_spec import engine_facts

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.data.files import RowFacts, RowSource
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.ready import Ready
    from dpcore.fitting.request.run_request import DataRequest
    from dpcore.protocols import Engine
    from dpcore.protocols.file_engine import FileEngine
    from dpcore.registry.catalogue import Registry

__all__ = [
    "engine_at_hand",
    "load_engine",
    "opened_rows",
    "require_all_rows",
    "require_one_fit",
    "rows_asked",
    "rows_of",
]


_OF_ALL = "run on all rows"


def load_engine(asked: str, registry: Registry) -> type[Engine]:
    """Return the class of an engine, which may be asked for as ``NAME:ADDRESS``.

    Raises InvalidInputError for an address where it takes none.
    """
    name, _, address = asked.partition(":")
    engine: type[Engine] = registry.load("engine", name)
    if address and not engine_facts(engine).reads_files:
        raise InvalidInputError(f"The engine {name} runs in this process and takes no address.")
    return engine


def engine_at_hand(engine: Any, table: Table, schema: Schema, threads: int | None) -> Engine:
    """Return the engine of rows that this process has; InvalidInputError for an engine that reads
    files itself, since it would be sent rows."""
    if engine_facts(engine).reads_files:
        raise InvalidInputError(
            f"The engine {engine.__name__} reads rows where its own processes are, and rows are "
            "not sent to it: name a Parquet file, a store, or a folder or pattern of them, or take "
            "the engine local."
        )
    opened: Engine = engine.open(table, schema, threads)
    return opened


def _address(plan: Plan) -> str | None:
    return plan.settings.engine.partition(":")[2] or None


@contextmanager
def opened_rows(plan: Plan, source: RowSource, schema: Schema | None) -> Iterator[FileEngine]:
    """Lend the plan's engine of rows that it reads itself, every one of them read and checked.

    Raises InvalidInputError for what public facts refuse, before the rows are looked for, and as
    the engine does.
    """
    _require_sums(schema)
    engine: Any = plan.engine
    with closing(engine.open(source, schema, plan.settings.threads)) as opened:
        _require_sums(opened.rows.schema)
        yield opened


@contextmanager
def rows_of(
    plan: Plan,
    X: Any,
    schema: Schema | None,
    public: Mapping[str, Any],
    read: Callable[[], Dataset],
) -> Iterator[tuple[RowFacts, Engine | None]]:
    """Lend the facts of rows that ``dpcore.fit`` is handed, and their engine where that reads them
    itself: files by their path, frames whose partitions are elsewhere. ``public`` : what was given
    beside them. ``read`` : reads all others."""
    from dpcore.data.files import Files, FrameParts
    from dpcore.fitting.rows.given import leave_to_file

    facts = plan.engine_facts
    source: RowSource | None = None
    of = "the file"
    if FrameParts.are(X):
        if not facts.reads_frames:
            raise InvalidInputError(
                "The rows of a Dask frame are on its workers: dpcore.fit(frame, schema=..., "
                "engine='dask') sums over them there, and frame.compute() is a frame at hand."
            )
        source = FrameParts(X, _address(plan), plan.settings.seed)
        of = "the frame, whose label is one of its columns"
    elif facts.reads_files and isinstance(X, (str, os.PathLike)):
        source = Files(os.fspath(X), address=_address(plan), seed=plan.settings.seed)
    if source is None:
        yield read(), None
        return
    leave_to_file(schema, of=of, **public)
    with opened_rows(plan, source, schema) as engine:
        yield engine.rows, engine


def require_all_rows(engine: Any, part: str | None) -> None:
    """Refuse a part of rows where the engine reads them itself."""
    if part is not None and engine_facts(engine).reads_files:
        raise InvalidInputError(
            f"An engine that reads files itself has no part of rows: {_OF_ALL}, or take the engine "
            "local."
        )


def require_one_fit(ready: Ready) -> None:
    """Refuse a run that asks an engine of files for more than one fit."""
    if ready.fits > 1:
        raise InvalidInputError(
            "An engine that reads files itself has no fit for each class: take --loss softmax "
            "(loss='softmax'), or take the engine local."
        )


def _require_sums(schema: Schema | None) -> None:
    """Refuse a schema that asks for more than sums over encoded rows."""
    if schema is None:
        return
    if schema.unbounded:
        raise InvalidInputError(
            f"The bounds of column {schema.unbounded[0].name!r} are private, which only the engine "
            "local releases: give public bounds, or take it."
        )
    if schema.unit is not None and not schema.unit_in_one_file:
        raise InvalidInputError(
            f"The guarantee is for units by {schema.unit!r}, whose rows may be in several files: "
            "where none has rows in two, the schema claims so by unit_in_one_file = true; else "
            "take the engine local."
        )


@contextmanager
def rows_asked(plan: Plan, request: DataRequest) -> Iterator[tuple[Any, Engine | None]]:
    """Lend the data that were asked for, and their engine where that reads the rows itself; those
    to report on are read by this process."""
    if plan.engine_facts.reads_files:
        source, schema, parts = file_loader().source_of(plan, request)
        with opened_rows(plan, source, schema) as engine:
            rows: Any = engine.rows
            test = file_loader().tested(request, rows.schema)
            yield Data(rows, test, why_not_private=rows.schema.why_not_private, parts=parts), engine
        return
    data = request.load(plan.relation, plan.settings.threads, plan.settings.seed)
    if data.test is not None and data.train.schema.unbounded:
        dry_run_rows(data.test, data.train.schema)
    yield data, None
