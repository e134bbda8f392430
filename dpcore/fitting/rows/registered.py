"""Registered data sets as a run asks for them, before any is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore.privacy.statement import part_of
from dpcore.registry.catalogue import load_registry

if TYPE_CHECKING:
    from dpcore.fitting.request.data_request import DataRequest

__all__ = ["registered_parts"]


def registered_parts(request: DataRequest) -> tuple[str, ...]:
    """Return the readers of a registered data set, by their own word and by the registry's;
    InvalidInputError for what it has of its own."""
    for option in ("schema", "target", "unit", "rows_per_unit"):
        if getattr(request, option) is not None:
            raise InvalidInputError(f"The data set {request.data} has its own {option}.")
    if request.schema_from_data:
        raise InvalidInputError(f"The data set {request.data} has its own schema.")
    registry = load_registry()
    load = registry.load("dataset", request.data)
    return part_of(load), registry.get("dataset", request.data).target
