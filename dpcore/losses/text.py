"""A loss in words: its name, its parameters and its weights."""

from collections.abc import Mapping
from typing import Any

__all__ = ["shown_loss"]


def shown_loss(
    name: str,
    parameters: Mapping[str, Any],
    class_weights: Mapping[str, float] | None = None,
    weight_bound: float | None = None,
) -> str:
    """Return a loss as one reads it: its name, its parameters, the weights of classes and the bound
    of rows' own, if it has some."""
    words = {name: "none" if value is None else value for name, value in parameters.items()}
    shown = [f"{name}={word}" for name, word in words.items()]
    weights = ", ".join(f"{of} {weight:.4g}" for of, weight in (class_weights or {}).items())
    shown += [f"classes weighted {weights}"] if weights else []
    shown += [] if weight_bound is None else [f"rows weighted up to {weight_bound:.4g}"]
    values = ", ".join(shown)
    return f"{name} ({values})" if values else name
