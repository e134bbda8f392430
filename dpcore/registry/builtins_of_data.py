"""The kinds of column, registered by the hooks that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.hookspecs import hookimpl

__all__ = ["register_column_kinds"]


_COLUMN_KINDS = {
    "numeric": "a number between public bounds, in public bins, or piecewise linear "
    "between public knots",
    "label": "what is to be predicted; one column is",
    "drop": "not used",
}
"""Kinds of column, in the order of their reference, and a summary of each."""


@hookimpl
def register_column_kinds(register: Callable[..., None]) -> None:
    for kind, becomes in _COLUMN_KINDS.items():
        register(kind, f"dpcore.data.schema.kinds:{kind.upper()}", summary=becomes)
