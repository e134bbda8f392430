"""Keywords that ``dpcore.fit`` had before, for this version: each with a warning that shows the new
form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dpcore.errors import InvalidInputError, near_names, warn_caller
from dpcore.fitting.request.fit_options import (
    Algorithm,
    Budget,
    Ledger,
    OneVsRest,
    Rows,
    Threads,
    Unit,
    Users,
    Weights,
)
from dpcore.fitting.request.settings import OVR
from dpcore.fitting.steps.facts import require_step
from dpcore.fitting.steps.weights import BALANCED
from dpcore.registry.catalogue import load_registry

__all__ = ["OLD_WORDS", "with_old_words"]


@dataclass(frozen=True)
class _Moved:
    """The old keywords that became fields of one value.

    Parameters
    ----------
    word : of ``fit``, which takes the value.
    plain : the field of what the word took by itself.
    fields : the field of each old keyword.
    """

    word: str
    kind: type
    plain: str
    fields: Mapping[str, str]


_MOVED = (
    _Moved("algo", Algorithm, "name", {n: n for n in ("use", "preset", "as_published")}),
    _Moved(
        "epsilon",
        Budget,
        "epsilon",
        {n: n for n in ("rho", "mu", "epsilon_max", "targets", "conversion")},
    ),
    _Moved("ledger", Ledger, "path", {n: n for n in ("analyst", "same_table", "part")}),
    _Moved("n0", Rows, "n0", {"capacity": "capacity"}),
    _Moved("engine", Threads, "engine", {"threads": "count"}),
    _Moved("unit", Unit, "column", {"rows_per_unit": "rows"}),
    _Moved("users", Users, "users", {"trust": "trust"}),
    _Moved("sample_weight", Weights, "values", {"weight_bound": "bound"}),
)
_STEPS = (
    "private_bounds",
    "largest_weight",
    "test_fraction",
    "evaluate_share",
    "evaluate_epsilon",
    "intervals_share",
)
OLD_WORDS = (*(old for moved in _MOVED for old in moved.fields), "multiclass", *_STEPS)
"""In this version alone."""


def with_old_words(words: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of ``fit`` with those of an earlier version in their new form.

    Raises TypeError for a keyword that no version has.
    """
    for name in old:
        if name not in OLD_WORDS:
            raise TypeError(
                f"fit() got an unexpected keyword argument {name!r}.{near_names(name, words)}"
            )
    found = dict(words)
    for moved in _MOVED:
        given = {field: old[name] for name, field in moved.fields.items() if name in old}
        if given:
            found[moved.word] = _moved(moved, found[moved.word], given)
    if "multiclass" in old:
        found["loss"] = _several(found["loss"], old["multiclass"])
    steps = _steps(found, {name: old[name] for name in _STEPS if name in old})
    also = found["also"]
    if not isinstance(also, (list, tuple)):
        require_step(also)
        also = (also,)
    return {**found, "also": (*steps, *also)}


def _moved(moved: _Moved, now: Any, given: dict[str, Any]) -> Any:
    if isinstance(now, moved.kind):
        raise InvalidInputError(
            f"Expected {', '.join(given)} in {moved.kind.__name__} alone, and not beside it."
        )
    if now is not None or moved.plain == "values":
        given = {moved.plain: now, **given}
    value = moved.kind(**given)
    _tell(f"{moved.word}={_shown(value)}")
    return value


def _several(loss: Any, multiclass: Any) -> Any:
    if multiclass is None:
        return loss
    if multiclass != OVR:
        raise InvalidInputError(f"Expected multiclass={multiclass!r} to be {OVR}, or left out.")
    _tell(f"loss=OneVsRest({'' if loss is None else repr(loss)})")
    return OneVsRest(loss)


def _steps(words: dict[str, Any], old: dict[str, Any]) -> list[Any]:
    """Return the steps that old keywords ask for, and take ``"balanced"`` from the weights."""
    found: list[Any] = []
    if old.get("private_bounds"):
        found.append(_registered("private-bounds")())
    largest = {"largest": old["largest_weight"]} if "largest_weight" in old else {}
    if isinstance(words["class_weight"], str) and words["class_weight"] == BALANCED:
        words["class_weight"] = None
        found.append(_registered(BALANCED)(**largest))
    elif largest:
        raise InvalidInputError(
            f"Expected largest_weight={largest['largest']!r} beside class_weight='balanced' alone, "
            "whose weights it caps."
        )
    shares = {"evaluate_share": "share", "evaluate_epsilon": "epsilon"}
    asked = {field: old[name] for name, field in shares.items() if old.get(name) is not None}
    fraction = old.get("test_fraction")
    if asked:
        found.append(_registered("evaluation")(**asked, test_fraction=fraction))
    elif fraction is not None:
        raise InvalidInputError(
            "Expected evaluate_share or evaluate_epsilon beside test_fraction: rows are held out "
            "for a private evaluation. For exact figures of a model, hold rows out beforehand."
        )
    if old.get("intervals_share") is not None:
        found.append(_registered("intervals")(old["intervals_share"]))
    if found:
        _tell(f"also=[{', '.join(map(_shown, found))}]")
    return found


def _registered(step: str) -> Any:
    return load_registry("step").load("step", step)


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
