"""Neighbouring tables, and how far apart their exact answers can be."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from dpcore.errors import InvalidInputError, near_names
from dpcore.privacy.immutable import sealed

__all__ = [
    "NeighboringRelation",
    "Norm",
    "RandomizedSensitivity",
    "Sensitivity",
    "require_norm",
]

Norm = Literal["l1", "l2", "linf"]


def require_norm(norm: str) -> None:
    """Raise InvalidInputError for a norm that there is not."""
    if type(norm) is not str or norm not in ("l1", "l2", "linf"):
        raise InvalidInputError(f"Expected norm={norm!r} to be l1, l2 or linf.")


@sealed
class NeighboringRelation(Enum):
    """The relation between two neighbouring tables, with the names of Google's dp_accounting.

    ``ADD_OR_REMOVE_ONE``: one has a row more; the number of rows is private.
    ``REPLACE_ONE``: one row differs; the number of rows is public. (epsilon, delta) under the first
    gives (2 epsilon, (1 + e^epsilon) delta) here; not conversely. ``REPLACE_SPECIAL``: one row is
    swapped for a row that contributes nothing.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation
    >>> NeighboringRelation.REPLACE_ONE.value, NeighboringRelation.REPLACE_ONE.size_is_public
    ('replace-one', True)
    """

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    REPLACE_ONE = "replace-one"
    REPLACE_SPECIAL = "replace-special"

    @classmethod
    def parse(cls, text: str) -> "NeighboringRelation":
        """Return the relation of a name; InvalidInputError lists the names."""
        known = [relation.value for relation in cls]
        if text in known:
            return cls(text)
        raise InvalidInputError(f"There is no relation {text!r}.{near_names(text, known)}")

    @staticmethod
    def usual(*factories: Any) -> str:
        """Return the relation of a run that names none. It is add-or-remove-one where all
        optimizers have a guarantee under that and none names another one first, else the first that
        all of them have, if there is one."""
        usual = NeighboringRelation.ADD_OR_REMOVE_ONE.value
        others = [factory.relations[0] for factory in factories if factory.relations[0] != usual]
        shared = [
            name
            for name in (
                *others,
                usual,
                *(name for factory in factories for name in factory.relations),
            )
            if all(name in factory.relations for factory in factories)
        ]
        return shared[0] if shared else usual

    @property
    def rows_changed(self) -> int:
        """Largest number of row contributions in which the sums over two neighbours differ."""
        return 2 if self is NeighboringRelation.REPLACE_ONE else 1

    @property
    def size_is_public(self) -> bool:
        return self is not NeighboringRelation.ADD_OR_REMOVE_ONE

    def require_all(self, rows_dropped: bool) -> None:
        """Refuse rows that are left of more where their number is public: of two tables that differ
        in one row, one may have lost it, and a public number of rows would tell."""
        if rows_dropped and self.size_is_public:
            raise InvalidInputError(
                "The rows were read with bad_rows='drop', and the number of rows is public under "
                f"{self.value}. Refuse bad rows (convert a store again with --bad-rows "
                "refuse), or take add-or-remove-one."
            )


@sealed
@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A bound on the change of an exact answer between neighbouring tables.

    An exact answer is an int64 array that counts steps of ``2**-grid_bits``; ``bound`` and
    ``change_range`` are in the answer's own unit (steps times ``2**-grid_bits``), as exact floats.

    Parameters
    ----------
    norm : the norm in which ``bound`` holds, over all coordinates of the answer.
    bound : finite and > 0; the largest norm of the difference over all neighbours.
    relation : the neighbouring relation under which both values hold.
    grid_bits : the answer is a multiple of ``2**-grid_bits``.
    change_range : for scores, the largest ``max_i(change of u_i) - min_i(change of u_i)``; ``None``
        for an answer that is not a vector of scores.
    """

    norm: Norm
    bound: float
    relation: NeighboringRelation
    grid_bits: int = 0
    change_range: float | None = None

    def __post_init__(self) -> None:
        require_norm(self.norm)
        for name, value in (("bound", self.bound), ("change_range", self.change_range)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidInputError(f"Expected {name}={value!r} to be finite and > 0.")

    def randomized(self, deltas: tuple[float, ...], weights: tuple[int, ...]) -> "Sensitivity":
        """Return the l2 sensitivity that a secret random choice of the query decides (Chen, Lee &
        Kifer 2019), as ``RandomizedSensitivity`` has it: ``bound`` is the largest of ``deltas``."""
        return RandomizedSensitivity(
            self.norm, self.bound, self.relation, self.grid_bits, None, deltas, weights
        )


@sealed
@dataclass(frozen=True, slots=True)
class RandomizedSensitivity(Sensitivity):
    """An l2 sensitivity that a secret random choice of the query decides (Chen, Lee & Kifer 2019).

    With probability ``weights[j] / sum(weights)``, whatever the rows and whichever of them differs,
    the answer moves by at most ``deltas[j]``; ``bound`` is the largest of them.

    Parameters
    ----------
    deltas : in the answer's unit, rounded up.
    weights : whole numbers >= 1, one for each delta.
    """

    deltas: tuple[float, ...] = ()
    weights: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        Sensitivity.__post_init__(self)
        if self.norm != "l2" or not self.deltas or len(self.deltas) != len(self.weights):
            raise InvalidInputError("Expected an l2 sensitivity with a weight for each delta.")
        if self.bound != max(self.deltas):
            raise InvalidInputError("Expected bound to be the largest of deltas.")
