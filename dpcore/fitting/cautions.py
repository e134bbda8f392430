"""Cautions for the owner of a model: the command line prints them, ``fit`` warns of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.exact.rounding import exact

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["cautions_of"]

_LARGE_EPSILON, _LARGE_DELTA = 10.0, 1e-3


def cautions_of(model: Model) -> list[str]:
    """Return what to be careful of, from released and public facts only."""
    privacy, cautions = model.privacy, []
    if privacy["private"] and privacy["epsilon"] > _LARGE_EPSILON:
        epsilon = exact(privacy["epsilon"])
        cautions.append(f"epsilon = {epsilon} is a factor of e^{epsilon}: next to no protection.")
    if privacy["private"] and privacy["delta"] > _LARGE_DELTA:
        delta = exact(privacy["delta"])
        cautions.append(f"delta = {delta} is large: with that probability a row may be disclosed.")
    if isinstance(model.details.get("warning"), str):
        cautions.append(model.details["warning"])
    return cautions
