"""The rows of a run as they were asked for: a data set by name, or a file with its schema."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.commands import DataRequest, Plan
from dpcore.plugin.engines import Files, Registered
from dpcore.plugin.parts import Dataset, PrivacyStatement, load_registry
from dpcore_tables.files.formats import schema_from_rows
from dpcore_tables.files.loading import require_file, require_known, schema_of
from dpcore_tables.weights.asked import check_weight, with_weight_asked, with_weight_column

__all__ = [
    "of_units_and_weights",
    "reading_threads",
    "requested",
    "schema_of_rows",
    "source_of",
    "tested",
    "with_schema",
]


def requested(
    request: DataRequest,
    relation: NeighboringRelation,
    threads: int | None,
    seed: int | None,
    coins: Callable[[int], bytes],
) -> tuple[Any, ...]:
    """Return the data that were asked for, as ``FileLoader.requested`` says."""
    _check_request(request)
    _check_drop_asked(request, relation)
    with reading_threads(threads):
        dataset, parts = _opened(request, coins)
        dataset = with_weight_asked(dataset, request.data, request)
        dataset = dataset.of_part(request.part)
        why_not_private = dataset.schema.why_not_private
        if request.test_fraction is None:
            test = tested(request, dataset.schema)
            return dataset, test, 1.0, why_not_private, parts
        train, test = dataset.split(request.test_fraction, relation, seed)
        return train, test, 1.0 - request.test_fraction, why_not_private, parts


def tested(request: DataRequest, schema: Schema) -> Dataset | None:
    """Return the rows of the file to report on, by the schema of those trained on; ``None`` where
    none was asked for. Raises DataError for what cannot be read."""
    if request.test is None:
        return None
    require_file(os.fspath(request.test))
    of_rows = schema.with_units(None)  # Whose rows are tested on does not matter.
    test = Dataset.from_file(
        request.test, of_rows, bad_rows=request.bad_rows, weight=request.weight
    )
    test = with_weight_asked(test, request.test, request)
    return test.of_part(request.part)


@contextmanager
def reading_threads(threads: int | None) -> Iterator[None]:
    """Let Arrow use as many; all readers of the process share its pool."""
    before = pa.cpu_count()
    if threads is not None:
        pa.set_cpu_count(threads)
    try:
        yield
    finally:
        pa.set_cpu_count(before)


def _check_request(request: DataRequest) -> None:
    check_weight(request)
    if request.bad_rows not in ("refuse", "drop"):
        raise InvalidInputError(f"Expected bad-rows={request.bad_rows!r} to be refuse or drop.")
    if request.test is not None and request.test_fraction is not None:
        raise InvalidInputError("Expected one of test-fraction and test, not both.")
    fraction = request.test_fraction
    if fraction is not None and not 0.0 < fraction < 1.0:
        raise InvalidInputError(f"Expected 0 < test-fraction={fraction} < 1.")
    if request.schema is not None and request.schema_from_data:
        raise InvalidInputError("Expected one of schema and schema-from-data, not both.")
    if request.private_bounds and request.schema is None:
        raise InvalidInputError(
            "Expected --schema (schema=), without bounds, beside --private-bounds "
            "(private_bounds=)."
        )


def _opened(request: DataRequest, coins: Callable[[int], bytes]) -> tuple[Dataset, tuple[str, ...]]:
    registry = load_registry()
    if request.data in registry.names("dataset"):
        parts = _registered_parts(request)
        return registry.load("dataset", request.data)(), parts
    require_known(request.data)
    require_file(os.fspath(request.data))
    asked = request.unit, request.rows_per_unit, request.weight
    schema = of_units_and_weights(_schema_asked(request), *asked)
    data = Dataset.from_file(
        request.data,
        schema,
        target=request.target,
        bad_rows=request.bad_rows,
        coins=coins,
        weight=request.weight,
    )
    names = [column.name for column in data.schema.columns]
    if schema is not None and schema.for_names(names) != data.schema:
        raise InvalidInputError(
            f"{request.data} has a schema of its own, and that of --schema (schema=) differs from "
            f"it (see `dpcore schema {request.data}`); leave --schema out, or convert the rows "
            "again."
        )
    return data, ()


def of_units_and_weights(
    schema: Schema | None, unit: str | None, rows_per_unit: int | None, weight: str | None
) -> Schema | None:
    """Return the schema with the units that were asked for beside it and the column of weights."""
    return with_weight_column(Schema.beside_units(schema, unit, rows_per_unit), weight)


def _schema_asked(request: DataRequest) -> Schema | None:
    """Return the schema that a request names, or asks to be read off the rows, if any."""
    _check_request(request)
    if request.schema_from_data:
        if request.target is None:
            raise InvalidInputError("Expected --target, the label column, with --schema-from-data.")
        schema = schema_from_rows(request.data, request.target)
    elif request.schema is None:
        return None
    elif isinstance(request.schema, Schema):
        schema = request.schema.anew()
    else:
        schema = Schema.read(request.schema, request.private_bounds)
        if request.target is not None and request.target != schema.label.name:
            raise InvalidInputError(
                f"The label of {os.fspath(request.schema)} is {schema.label.name!r}, "
                f"not {request.target!r}; make that column's kind label in the schema."
            )
    schema.require_ledger()
    return schema


def with_schema(request: DataRequest) -> DataRequest:
    """Return the request with the schema that it names, or asks to be read off the rows, in its
    place: it is read once. Raises as ``load_data`` does for a schema."""
    if request.data in load_registry().names("dataset"):
        return request
    schema = _schema_asked(request)
    return request if schema is None else replace(request, schema=schema, schema_from_data=False)


def schema_of_rows(request: DataRequest) -> Schema | None:
    """Return the schema of rows that are not read yet, of a request ``with_schema``; ``None`` where
    only the rows have it."""
    registry = load_registry()
    if request.data in registry.names("dataset"):
        return Dataset.declared_schema(registry.load("dataset", request.data))
    if request.schema is not None:
        return _schema_asked(request)
    return schema_of(request.data)


def source_of(
    plan: Plan, request: DataRequest
) -> tuple[Files | Registered, Schema | None, tuple[str, ...]]:
    """Return where an engine finds the rows that were asked for, their schema, and the readers that
    run on them, as far as they are not its own.

    Raises InvalidInputError for what such an engine cannot do, all before a file is looked for.
    """
    _check_drop_asked(request, plan.relation)
    address = plan.settings.engine.partition(":")[2] or None
    registered = request.data in load_registry().names("dataset")
    asked = {
        "--test-fraction (test_fraction=)": (
            request.test_fraction is not None,
            "fit the model to all rows, and report on those of another file (--test)",
        ),
        "--part (part=)": (request.part is not None, "run on all rows"),
        "--schema-from-data": (request.schema_from_data, "write a schema"),
        "--private-bounds (private_bounds=)": (request.private_bounds, "give public bounds"),
        "query of a database": (
            "?query=" in request.data,
            "write the rows to a store (`dpcore convert`), and name that",
        ),
        f"the data set {request.data}": (
            registered and not plan.engine_facts.reads_registered,
            "name Parquet files or stores with --data",
        ),
    }
    for option, (is_asked, advice) in asked.items():
        if is_asked:
            raise InvalidInputError(
                f"An engine that reads files itself has no {option}: {advice}, or take --engine "
                "local (engine='local')."
            )
    check_weight(request, is_file=False)
    if registered:
        return Registered(request.data, address), None, _registered_parts(request)
    if address is None:
        require_known(request.data)
    schema = Schema.beside_units(_schema_asked(request), request.unit, request.rows_per_unit)
    bad_rows: Any = request.bad_rows
    return Files(request.data, bad_rows, address, plan.settings.seed), schema, ()


def _check_drop_asked(request: DataRequest, relation: NeighboringRelation) -> None:
    """Refuse to drop rows where their number is public: two tables that differ in one row are
    neighbours only if they stay of one size, and a row that is bad in one of them would show."""
    if request.bad_rows == "drop" and relation.size_is_public:
        raise InvalidInputError(
            f"Expected bad-rows='refuse' under {relation.value}: the number of rows is public "
            "there, and a dropped row changes it. Refuse bad rows, or take add-or-remove-one."
        )


def _registered_parts(request: DataRequest) -> tuple[str, ...]:
    """Return the readers of a registered data set, by their own word and by the registry's;
    InvalidInputError for what it has of its own."""
    for option in ("schema", "target", "unit", "rows_per_unit"):
        if getattr(request, option) is not None:
            raise InvalidInputError(f"The data set {request.data} has its own {option}.")
    if request.schema_from_data:
        raise InvalidInputError(f"The data set {request.data} has its own schema.")
    check_weight(request, is_file=False)
    registry = load_registry()
    load = registry.load("dataset", request.data)
    return PrivacyStatement.part_of(load), registry.get("dataset", request.data).target
