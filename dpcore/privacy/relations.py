"""Neighbouring relations by name."""

from typing import Any

from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["usual_relation"]


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
