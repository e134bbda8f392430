"""A part with other parameters: the ends of each range that its class states, and some within."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["unranged", "variants"]

_WITHIN, _JOINT = 3, 6
_CLOSE = 2.0**-30
"""How near to an end that is not in the range itself, as a share of its width."""
_FAR = 2.0**20
"""In place of an end at infinity."""


def variants(part: Any) -> Iterator[Any]:
    """Yield copies of a dataclass's instance: each field that states a range at both its ends and
    at random within, the others as they are, then all of them at random. Values that it refuses
    beside its others are left out."""
    rng = np.random.default_rng(20)
    ranges = _ranges(part)
    values = {name: [*ends, *_within(*ends, rng)] for name, ends in ranges.items()}
    chosen = [{name: value} for name, tried in values.items() for value in tried]
    if len(values) > 1:
        chosen += [
            {n: v[int(rng.integers(len(v)))] for n, v in values.items()} for _ in range(_JOINT)
        ]
    for fields in chosen:
        whole = {n: round(v) if type(getattr(part, n)) is int else v for n, v in fields.items()}
        try:
            yield dataclasses.replace(part, **whole)
        except (DpcoreError, ValueError):
            continue


def unranged(part: Any) -> list[str]:
    """Return the names of the fields that a dataclass's instance has and states no range of."""
    if not dataclasses.is_dataclass(part):
        return []
    return sorted(
        f.name for f in dataclasses.fields(part) if f.init and f.name not in _ranges(part)
    )


def _ranges(part: Any) -> dict[str, tuple[float, float]]:
    """Return the least and the largest value to be tried of each field that states a range."""
    if not dataclasses.is_dataclass(part):
        return {}
    stated = {f.name: f.metadata.get("range") for f in dataclasses.fields(part) if f.init}
    return {name: _ends(*ends) for name, ends in stated.items() if ends is not None}


def _ends(low: float, high: float, brackets: str = "[]") -> tuple[float, float]:
    if math.isinf(low):
        low, brackets = (high if math.isfinite(high) else 0.0) - _FAR, "[" + brackets[1]
    if math.isinf(high):
        high, brackets = low + _FAR, brackets[0] + "]"
    inside = _CLOSE * (high - low)
    return low + inside * (brackets[0] == "("), high - inside * (brackets[1] == ")")


def _within(low: float, high: float, rng: np.random.Generator) -> list[float]:
    """Return random values, of every size where all are > 0."""
    if low > 0:
        return [float(v) for v in np.exp(rng.uniform(math.log(low), math.log(high), _WITHIN))]
    return [float(v) for v in rng.uniform(low, high, _WITHIN)]
