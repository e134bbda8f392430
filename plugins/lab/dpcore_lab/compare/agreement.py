"""The settings in which a results file, or a journal, and a run that goes on with it agree."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore import Schema
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore_lab.compare.settings import Comparison

__all__ = ["refuse_other", "settings_of"]

_MOST_SHOWN = 40


def settings_of(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison's settings as JSON-able data, and of its schema file whose rows are
    protected and a digest of all that it says: bounds and units are read anew by each run."""
    settings = comparison.to_dict()
    if comparison.schema is None:
        return settings
    schema = Schema.read(comparison.schema).to_dict()
    text = json.dumps(schema, sort_keys=True, default=str)
    return {
        **settings,
        "schema.unit": schema.get("unit"),
        "schema.rows_per_unit": schema.get("rows_per_unit"),
        "schema.digest": hashlib.sha256(text.encode()).hexdigest(),
    }


def refuse_other(path: str, known: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raise InvalidInputError, naming them, if the settings that made a file are not those asked
    for."""
    differing = [key for key in {**known, **asked} if known.get(key) != asked.get(key)]
    if differing:
        changes = (_change(key, known.get(key), asked.get(key)) for key in sorted(differing))
        raise InvalidInputError(
            f"{path!r} is of a comparison with other settings ({', '.join(changes)}). "
            "Choose another --out, or remove it to begin anew."
        )


def _change(key: str, known: Any, asked: Any) -> str:
    """Return a setting's name, with both values where these are short."""
    pair = (known, asked)
    if not all(isinstance(v, str | int | float | None) and len(str(v)) < _MOST_SHOWN for v in pair):
        return key
    return f"{key}: {known!r} then, {asked!r} now"
