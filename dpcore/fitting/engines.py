"""The engine of a fit: by its name, over rows at hand or over files that it reads itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.fitting.class_weights import BALANCED
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import engine_facts

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.data.files import RowFacts
    from dpcore.data.readers import BadRows
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.loading import DataRequest
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.public_facts import Ready
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Engine
    from dpcore.protocols.file_engine import FileEngine
    from dpcore.registry.catalogue import Registry

__all__ = [
    "engine_at_hand",
    "engine_name",
    "files_of",
    "load_engine",
    "opened_files",
    "require_all_rows",
    "require_one_fit",
    "rows_of",
]


_OF_ALL = "run on all rows"


def engine_name(asked: str) -> str:
    """Return the registered name of an engine that may be asked for as ``NAME:ADDRESS``."""
    return asked.partition(":")[0]


def load_engine(asked: str, registry: Registry) -> type[Engine]:
    """Return the class of an engine; InvalidInputError for an address where it takes none."""
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
            f"The engine {engine.__name__} reads files where its own processes are, and rows are "
            "not sent to it: name a Parquet file, a store, or a folder or pattern of them, or take "
            "the engine local."
        )
    opened: Engine = engine.open(table, schema, threads)
    return opened


def files_of(
    request: DataRequest, relation: NeighboringRelation
) -> tuple[str, Schema | None, BadRows]:
    """Return the place, the schema and the rule for bad rows of files that an engine reads itself.

    Raises InvalidInputError for what such an engine cannot do, all before a file is looked for.
    """
    from dpcore.fitting.loading import check_drop_asked, read_schema_of
    from dpcore.fitting.rows import with_units

    check_drop_asked(request, relation)
    reports = "fit the model to all rows, then `dpcore predict` on other files"
    asked = {
        "--test": (request.test is not None, reports),
        "--test-fraction": (request.test_fraction is not None, reports),
        "--part": (request.part is not None, _OF_ALL),
        "--schema-from-data": (request.schema_from_data, "write a schema"),
        "--private-bounds": (request.private_bounds, "give public bounds"),
        f"the data set {request.data}": (
            request.data in load_registry().names("dataset"),
            "name Parquet files or stores with --data",
        ),
    }
    for option, (is_asked, advice) in asked.items():
        if is_asked:
            raise InvalidInputError(
                f"An engine that reads files itself has no {option}: {advice}, or take --engine "
                "local."
            )
    schema = with_units(read_schema_of(request), request.unit, request.rows_per_unit)
    return request.data, schema, request.bad_rows  # type: ignore[return-value]


@contextmanager
def opened_files(
    plan: Plan, place: str | os.PathLike[str], schema: Schema | None, bad_rows: BadRows = "refuse"
) -> Iterator[FileEngine]:
    """Lend the plan's engine of files, every one of them open and checked.

    Raises InvalidInputError for what public facts refuse, before a file is looked for, and as the
    engine does.
    """
    _require_sums(schema)
    from dpcore.data.files import Files

    asked = plan.settings.engine.partition(":")[2] or None
    engine: Any = plan.engine
    files = Files(os.fspath(place), bad_rows, asked)
    with closing(engine.open(files, schema, plan.settings.threads)) as opened:
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
    itself: files by their path. ``public`` : what was given beside them. ``read`` : reads all
    others."""
    if engine_facts(plan.engine).reads_files and isinstance(X, (str, os.PathLike)):
        from dpcore.fitting.rows import leave_to_file

        leave_to_file(schema, **public)
        with opened_files(plan, X, schema) as engine:
            yield engine.rows, engine
    else:
        yield read(), None


def require_all_rows(engine: Any, part: str | None) -> None:
    """Refuse a part of rows where the engine reads them itself."""
    if part is not None and engine_facts(engine).reads_files:
        raise InvalidInputError(
            f"An engine that reads files itself has no part of rows: {_OF_ALL}, or take the engine "
            "local."
        )


def require_one_fit(ready: Ready) -> None:
    """Refuse a run that asks an engine of files for more than one fit, or counts before it."""
    asked = {
        "fit for each class": (ready.fits > 1, "take --loss softmax"),
        "balanced weights": (
            ready.plan.settings.class_weight == BALANCED,
            "give a public weight for each class",
        ),
    }
    for what, (is_asked, advice) in asked.items():
        if is_asked:
            raise InvalidInputError(
                f"An engine that reads files itself has no {what}: {advice}, or take the engine "
                "local."
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
    if schema.unit is not None:
        raise InvalidInputError(
            f"The guarantee is for units by {schema.unit!r}, whose rows may be in several files: "
            "take the engine local, or a schema without unit, for a guarantee for rows."
        )
