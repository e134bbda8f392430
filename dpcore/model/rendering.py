"""A model as one reads it in a terminal or a notebook: from its public and released parts."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpcore.errors import RegistryError, visible

if TYPE_CHECKING:
    from dpcore.model.learnt import LearntFacts

__all__ = [
    "classes_in_words",
    "columns_in_words",
    "fitted_in_words",
    "sections_in_words",
    "shown_bounds",
    "shown_loss",
    "text_of",
    "unseen_columns",
]

_OF_TARGET = "; of the target's rows about {last:.1%} in its last bins, {beyond:.1%} beyond"

_MOST_NAMES, _MEAN = 8, "the mean, by a log link, of "
_FIELDS = ("evaluation", "intervals")
"""Sections of steps that have a field of their own in a model file, as it shows them."""


def text_of(model: LearntFacts) -> str:
    """Return three lines: what was fitted, what is guaranteed, and which columns a row has."""
    claim = model.privacy["sentence"].partition(" In words:")[0]
    rows = f"It takes rows of {columns_in_words(model)}."
    lines = f"Model: {fitted_in_words(model)}", claim, rows
    return "\n".join(visible(" ".join(line.split())) for line in lines)


def sections_in_words(model: LearntFacts) -> list[str]:
    """Return what the steps of a run found of its model, in words.

    Of a step with a field of its own in a model file they are those of its ``of(model)``; where it
    is not installed here, how to get it. Sections of somebody's own have lines in the file, shown
    with their name, and with a note where their package is not here. All are kept by ``save``."""
    given = (step for step in _FIELDS if getattr(model, step) is not None)
    return [line for step in given for line in _of(step, model)] + [
        f"{name}: {visible(' '.join(line.split()))}"
        for name, section in model.sections.items()
        for line in [*section["lines"], *_not_here(section["part"])]
    ]


def _of(step: str, model: LearntFacts) -> list[str]:
    """Return the lines of a step about a model, or why there are none."""
    from dpcore.registry.catalogue import load_registry

    try:
        return [*load_registry("step").load("step", step).of(model).lines]
    except RegistryError as error:
        return [f"{step}: kept, and not shown. {error}"]


def _not_here(part: str) -> list[str]:
    package = part.partition(":")[0].partition(".")[0]
    known = package in sys.modules or not package.isidentifier()
    if known or importlib.util.find_spec(package) is not None:
        return []
    return [f"The step's package, {package}, is not installed here; its section is kept."]


def shown_bounds(model: LearntFacts) -> str:
    """Return the bounds that the fit released, column by column; a default, where no rows were
    seen, is named as one. Of a target, the noisy shares of rows at the ends and beyond."""
    bounds, unseen = model.released_bounds.items(), unseen_columns(model)
    shares = model.privacy.get("private_bounds", {}).get("target_shares")
    return "; ".join(
        f"{name} {lower:.6g} to {upper:.6g}{' (the default)' if name in unseen else ''}"
        for name, (lower, upper) in bounds
    ) + (shares and _OF_TARGET.format(**shares) or "")


def unseen_columns(model: LearntFacts) -> tuple[str, ...]:
    """Return the columns whose bounds were to be released, and are a default."""
    return tuple(model.privacy.get("private_bounds", {}).get("unseen", ()))


def fitted_in_words(model: LearntFacts) -> str:
    """Return what the model predicts, and how it was fitted."""
    label = model.schema.label
    kind = classes_in_words([repr(name) for name in model.classes or ()])
    if label.is_real:
        kind = f"{_MEAN * model.log_link}a number from {label.lower:g} to {label.upper:g}"
    inner = " and an intercept" if model.schema.intercept else ""
    facts = model.loss, model.loss_parameters, model.class_weights, model.weight_bound
    loss, count = shown_loss(*facts), model.coef.shape[-1]
    features = f"{count} feature" if count == 1 else f"{count} features"
    each = "" if model.multiclass is None else ", each class against the rest"
    return f"{kind} by {loss} loss, {features}{inner}, fitted by {model.algo['name']}{each}"


def classes_in_words(names: Sequence[str]) -> str:
    """Return the names of classes as one reads them: of many their number and the first."""
    if len(names) > _MOST_NAMES:
        return f"one of {len(names):,} classes ({', '.join(names[:_MOST_NAMES])}, ...)"
    return " or ".join([", ".join(names[:-1]), *names[-1:]])


def columns_in_words(model: LearntFacts) -> str:
    """Return the columns that a row has: their number, and the names of the first."""
    if model.schema.width is not None:
        return f"{model.schema.width} columns without names"
    names = [column.name for column in model.schema.features]
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{len(names)} columns: {', '.join(names[:_MOST_NAMES])}{more}"


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
    weights = ", ".join(f"{of}: {weight:.4g}" for of, weight in (class_weights or {}).items())
    shown += [f"class weights {weights}"] if weights else []
    shown += [] if weight_bound is None else [f"rows weighted up to {weight_bound:.4g}"]
    values = ", ".join(shown)
    return f"{name} ({values})" if values else name
