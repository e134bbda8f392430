"""Whether the facts that a model file holds twice agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.errors import ModelFileError
from dpcore.registry.catalogue import is_registered

if TYPE_CHECKING:
    from dpcore.data.schema.columns import Label
    from dpcore.model.learnt import LearntFacts

__all__ = ["check_agreement"]


def check_agreement(name: str, content: Mapping[str, Any], model: LearntFacts) -> None:
    """Raise ModelFileError if a file of this name and its model do not agree, or its loss is not
    installed."""
    schema = model.schema
    agrees = (
        model.w.shape == schema.w_shape
        and (content["intercept"] is not None) == schema.intercept
        and tuple(content["feature_names"]) == model.feature_names
        and _classes_agree(content["classes"], schema.label)
        and content["row_norm"] == model.row_norm
    )
    if not is_registered("loss", model.loss):
        raise ModelFileError(
            f"The loss {model.loss!r} of {name!r} is not installed; see dpcore list losses."
        )
    if not agrees:
        raise ModelFileError(f"The coefficients in {name!r} do not fit its schema.")


def _classes_agree(written: list[Any] | None, label: Label) -> bool:
    """Return whether a file's classes are its schema's, which holds text or numbers only."""
    if written is None or label.is_real or len(written) != label.n_classes:
        return written is None and label.is_real
    pairs = zip(written, label.names, strict=True)
    return all(_as_in_schema(value, expected) == expected for value, expected in pairs)


def _as_in_schema(value: Any, expected: str | float) -> str | float:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(expected, str) else value
