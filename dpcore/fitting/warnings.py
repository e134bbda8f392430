"""Cautions for the owner of a model or a session: the command line prints them, ``fit`` and
``open_session`` warn of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.model.rendering import unseen_columns
from dpcore.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["cautions_of"]


def cautions_of(model: Model, *, was_warned: bool = False) -> list[str]:
    """Return what to be careful of, from released and public facts only. ``was_warned`` : whether
    it
    was said before the run that the model would be no better than a constant."""
    cautions = []
    if model.privacy["private"]:
        cautions += PrivacyStatement.cautions_of(model.privacy["epsilon"], model.privacy["delta"])
    if unseen := [(name, *model.released_bounds[name]) for name in unseen_columns(model)]:
        defaults = (f"{name!r} ({low:g} to {high:g} is the default)" for name, low, high in unseen)
        cautions.append(
            "no rows were seen above the noise, where bounds were looked for, in "
            f"{', '.join(defaults)}: state bounds there."
        )
    if isinstance(model.details.get("warning"), str) and not was_warned:
        cautions.append(model.details["warning"])
    return cautions
