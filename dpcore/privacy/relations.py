"""Neighbouring relations by name."""

from typing import Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["parse_relation", "usual_relation"]


def usual_relation(*factories: Any) -> str:
    """Return the relation of a run that names none. It is add-or-remove-one where all optimizers
    have a guarantee under that and none names another one first, else the first that all of them
    have, if there is one."""
    usual = NeighboringRelation.ADD_OR_REMOVE_ONE.value
    others = [factory.relations[0] for factory in factories if factory.relations[0] != usual]
    shared = [
        name
        for name in (*others, usual, *(name for factory in factories for name in factory.relations))
        if all(name in factory.relations for factory in factories)
    ]
    return shared[0] if shared else usual


def parse_relation(text: str) -> NeighboringRelation:
    """Return the neighbouring relation of a name; InvalidInputError lists the names."""
    for relation in NeighboringRelation:
        if text == relation.value:
            return relation
    known = [relation.value for relation in NeighboringRelation]
    raise InvalidInputError(f"There is no relation {text!r}.{near_names(text, known)}")
