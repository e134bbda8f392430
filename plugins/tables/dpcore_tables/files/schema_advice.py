"""Advice to whoever loads a file without a schema, or with another target than the schema's."""

from __future__ import annotations

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore_tables.files.formats import entry_of, format_of, is_named
from dpcore_tables.files.input_paths import name_of

__all__ = ["check_target", "schema_advice"]


def check_target(target: str | None, schema: Schema) -> None:
    """Raise InvalidInputError for another target than the schema's label."""
    if target is not None and target != schema.label.name:
        raise InvalidInputError(
            f"The target {target!r} is not the schema's label, {schema.label.name!r}."
        )


def schema_advice(path: str, format: str | None, target: str | None) -> str:
    """Return how to write the schema that a file needs."""
    if entry_of(path, format).data.get("query"):
        return (
            f"{name_of(path)} needs a schema of its public bounds and categories: write one from "
            "`dpcore schema` with the same --query, and name it with --schema (schema=)."
        )
    form, asked = format_of(path, format), "" if target is None else f" --target {target}"
    command = f"`dpcore schema {path}{asked} > schema.toml`"
    if is_named(path, format) and form not in ("csv", "parquet"):
        return (
            f"{path} needs a schema of its public bounds and categories: write one by hand "
            "(`dpcore schema --help-keys` explains its keys), and name it with --schema (schema=)."
        )
    if is_named(path, format):
        return (
            f"{path} needs a schema of its public bounds and categories: write one from {command}, "
            "or train with --schema-from-data (not private)."
        )
    return (
        f"{path} needs a schema with its width, its label's classes and its row_norm: write one "
        f"from {command}."
    )
