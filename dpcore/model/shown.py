"""A model as one reads it in a terminal or a notebook: from its public and released parts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dpcore.fitting.losses import shown_loss

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["fitted_in_words", "html_of", "shown_bounds", "text_of", "unseen_columns"]

_MOST_NAMES = 8


def text_of(model: Model) -> str:
    """Return three lines: what was fitted, what is guaranteed, and which columns a row has."""
    claim = model.privacy["sentence"].partition(" In words:")[0]
    lines = f"Model: {fitted_in_words(model)}", claim, f"It takes rows of {_columns(model)}."
    return "\n".join(" ".join(line.split()) for line in lines)


def html_of(model: Model) -> str:
    """Return a small table of the same, with the whole sentence and all coefficients."""
    facts = {
        "Model": fitted_in_words(model),
        "Privacy": model.privacy["sentence"],
        "Rows": _columns(model),
        "Run": model.status,
    }
    if model.released_bounds:
        facts["Bounds released"] = shown_bounds(model)
    rows = "".join(f"<tr><th>{k}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    named = [*zip(model.feature_names, model.coef, strict=True)]
    if model.schema.intercept:
        named.append(("intercept", model.intercept))
    weights = "".join(
        f"<tr><td>{escape(name)}</td><td>{weight:.6g}</td></tr>" for name, weight in named
    )
    return (
        f"<table>{rows}</table><details><summary>{len(named)} coefficients</summary>"
        f"<table>{weights}</table></details>"
    )


def shown_bounds(model: Model) -> str:
    """Return the bounds that the fit released, column by column; a default, where no rows were
    seen, is named as one."""
    bounds, unseen = model.released_bounds.items(), unseen_columns(model)
    return "; ".join(
        f"{name} {lower:.6g} to {upper:.6g}{' (the default)' if name in unseen else ''}"
        for name, (lower, upper) in bounds
    )


def unseen_columns(model: Model) -> tuple[str, ...]:
    """Return the columns whose bounds were to be released, and are a default."""
    return tuple(model.privacy.get("private_bounds", {}).get("unseen", ()))


def fitted_in_words(model: Model) -> str:
    """Return what the model predicts, and how it was fitted."""
    label = model.schema.label
    kind = f"a number from {label.lower:g} to {label.upper:g}" if label.is_real else "two classes"
    if model.classes is not None:
        kind = "{!r} or {!r}".format(*model.classes)
    inner = " and an intercept" if model.schema.intercept else ""
    loss = shown_loss(model.loss, model.loss_parameters)
    features = len(model.feature_names)
    return f"{kind} by {loss} loss, {features} features{inner}, fitted by {model.algo['name']}"


def _columns(model: Model) -> str:
    if model.schema.width is not None:
        return f"{model.schema.width} columns without names"
    names = [column.name for column in model.schema.features]
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{len(names)} columns: {', '.join(names[:_MOST_NAMES])}{more}"
