"""Kinds of values that the tables of declarations ask for."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.slots import Slot
from dpcore.registry.tables.facts import Shape, Words

__all__ = ["NUMBER", "PRESETS", "RELATIONS", "SLOTS", "TEXT", "TEXTS", "TRUTH", "VALUES", "WHOLE"]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(values: Any) -> bool:
    return isinstance(values, (tuple, list)) and all(map(_is_text, values))


def _are_slots(slots: Any) -> bool:
    pairs = slots.items() if isinstance(slots, Mapping) else [(slots, slots)]
    return all(_is_text(name) and isinstance(slot, Slot) for name, slot in pairs)


def _are_presets(presets: Any) -> bool:
    return isinstance(presets, Mapping) and all(isinstance(v, Mapping) for v in presets.values())


TEXT = Shape("a text", _is_text)
TEXTS = Shape("a tuple of texts", _are_texts)
TRUTH = Shape("true or false", lambda value: type(value) is bool)
NUMBER = Shape("a number", lambda v: not isinstance(v, bool) and isinstance(v, numbers.Real))
WHOLE = Shape("a whole number", lambda value: type(value) is int)
VALUES = Shape("a dict of parameter to value", lambda value: isinstance(value, Mapping))
SLOTS = Shape("a dict of text to Slot", _are_slots)
PRESETS = Shape("a dict of preset to a dict of what it sets", _are_presets)
RELATIONS = Words("relation", tuple(relation.value for relation in NeighboringRelation), least=1)
