"""Keywords that ``dpcore.fit`` had before, for this version: each with a warning that shows the new
form. They are listed in ``moved.toml``."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dpcore.errors import InvalidInputError, near_names, warn_caller
from dpcore.fitting.request import fit_options
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.facts import require_step
from dpcore.fitting.steps.weights import BALANCED
from dpcore.moved import table_of
from dpcore.registry.catalogue import load_registry

__all__ = ["with_old_words"]


def with_old_words(words: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of ``fit`` with those of an earlier version in their new form.

    Raises TypeError for a keyword that no version has.
    """
    table = table_of("words")
    for name in old:
        if name not in table:
            raise TypeError(
                f"fit() got an unexpected keyword argument {name!r}.{near_names(name, words)}"
            )
    found, steps = dict(words), dict[str, dict[str, Any]]()
    values: dict[tuple[str, ...], dict[str, Any]] = {}
    for name, form in table.items():
        word, *where, field = form.split()
        if word == "also":
            of_step = steps.setdefault(where[0], {})
            is_off = name not in old or old[name] is None or old[name] is False
            of_step |= {} if is_off else {field: old[name]}
        elif name in old:
            values.setdefault((word, *where), {})[field] = old[name]
    for (word, kind, plain), given in values.items():
        change = _several if word == "loss" else _moved
        found[word] = change(word, getattr(fit_options, kind), plain, found[word], given)
    asked, also = _steps(found, steps), found["also"]  # The first takes words out.
    if not isinstance(also, (list, tuple)):
        require_step(also)
        also = (also,)
    return {**found, "also": (*asked, *also)}


def _moved(word: str, kind: Any, plain: str, now: Any, given: dict[str, Any]) -> Any:
    """Return the value that a word takes with old keywords as its fields. ``plain`` : the field of
    what the word took by itself."""
    if isinstance(now, kind):
        raise InvalidInputError(
            f"Expected {', '.join(given)} in {kind.__name__} alone, and not beside it."
        )
    if now is not None or plain == "values":
        given = {plain: now, **given}
    value = kind(**given)
    _tell(f"{word}={_shown(value)}")
    return value


def _several(word: str, kind: Any, plain: str, now: Any, given: dict[str, Any]) -> Any:
    """Return the loss with ``multiclass`` in its new form."""
    multiclass = given["multiclass"]
    if multiclass is None:
        return now
    if multiclass != Settings.OVR:
        raise InvalidInputError(
            f"Expected multiclass={multiclass!r} to be {Settings.OVR}, or left out."
        )
    _tell(f"{word}={kind.__name__}({'' if now is None else repr(now)})")
    return kind(now)


def _steps(words: dict[str, Any], asked: dict[str, dict[str, Any]]) -> list[Any]:
    """Return the steps that old keywords ask for, and take ``"balanced"`` from the weights."""
    names = {name for name, given in asked.items() if given}
    if isinstance(words["class_weight"], str) and words["class_weight"] == BALANCED:
        words["class_weight"] = None
        names.add(BALANCED)
    elif BALANCED in names:
        raise InvalidInputError(
            f"Expected largest_weight={asked[BALANCED]['largest']!r} beside "
            "class_weight='balanced' alone, whose weights it caps."
        )
    if {*asked["evaluation"]} == {"test_fraction"}:
        raise InvalidInputError(
            "Expected evaluate_share or evaluate_epsilon beside test_fraction: rows are held out "
            "for a private evaluation. For exact metrics of a model, hold rows out beforehand."
        )
    asked["private-bounds"] = {}
    steps = load_registry("step")
    found = [steps.load("step", name)(**asked[name]) for name in asked if name in names]
    if found:
        _tell(f"also=[{', '.join(map(_shown, found))}]")
    return found


def _shown(value: Any) -> str:
    """Return a value of ``fit`` as its caller writes it; of weights of rows no weight."""
    given = [
        f"{field.name}={'...' if field.name == 'values' else repr(getattr(value, field.name))}"
        for field in fields(value)
        if field.name == "values" or getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(given)})"


def _tell(form: str) -> None:
    warn_caller(
        f"Keywords of this fit have a new form, and the next version takes that alone: fit(X, y, "
        f"{form}).",
        kind=FutureWarning,
    )
