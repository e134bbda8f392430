"""The problem that an optimizer is told (public facts only) and the solution that it gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.privacy.sealed import sealed
from dpcore.privacy.sensitivity import NeighboringRelation

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.schema.schema import Schema
    from dpcore.protocols import Accountant, Loss, Optimizer

__all__ = ["Problem", "Solution", "check_fits", "check_label"]


@sealed
@dataclass(frozen=True, slots=True)
class Problem:
    """Public facts of one fit: nothing here depends on a row.

    Parameters
    ----------
    loss : the row loss.
    l2 : weight of the regulariser; the objective is
        ``sum of losses + (n_public * l2 / 2) ||w||^2``. >= 0.
    n_features : width of ``w``, the intercept's column included.
    row_norm : public bound of the l2 norm of every (scaled) row.
    raw_norm_bound : public bound of the l2 norm of every row as stored, before its factor.
    relation : the neighbouring relation of the run.
    n : the number of rows under replace-one; ``None`` under add-or-remove-one, where it is private.
    n0 : the schema's public figure for the number of rows, or ``None``.
    capacity : public upper figure of the number of rows, for the grid of the sums. More rows than
        that cost utility, never privacy.
    intercept : whether the last column is 1 in every row.
    """

    loss: Loss
    l2: float
    n_features: int
    row_norm: float
    raw_norm_bound: float
    relation: NeighboringRelation
    n: int | None = None
    n0: int | None = None
    capacity: int = 2**27
    intercept: bool = False

    def __post_init__(self) -> None:
        for name in ("l2", "row_norm", "raw_norm_bound"):
            object.__setattr__(self, name, float(getattr(self, name)))  # and no subclass of it
        if self.n is not None and not self.relation.size_is_public:
            raise InvalidInputError("The number of rows is private under add-or-remove-one.")
        if not (math.isfinite(self.l2) and self.l2 >= 0):
            raise InvalidInputError(f"Expected l2={self.l2!r} to be finite and >= 0.")
        if self.n_features < 1:
            raise InvalidInputError("The data have no feature columns.")

    @property
    def n_public(self) -> int | None:
        """``n`` where it is public, else the schema's ``n0``, else ``None``."""
        return self.n if self.n is not None else self.n0

    @property
    def unsure_capacity(self) -> int | None:
        """``capacity`` where there may be more rows, ``None`` where their public number is no
        larger."""
        return None if self.n is not None and self.n <= self.capacity else self.capacity


@dataclass(frozen=True)
class Solution:
    """An optimizer's result: a function of released values and public facts.

    Parameters
    ----------
    w : float64 array of shape (n_features,).
    status : a sentence that says how the run ended.
    details : plain figures for the report (steps taken, released counts): what
        ``dpcore.protocols.details.fault_of_details`` allows, or a note stands in their place.
    """

    w: np.ndarray
    status: str
    details: dict[str, Any] = field(default_factory=dict)


def check_label(loss: Loss, schema: Schema) -> None:
    """Raise InvalidInputError for a loss that is of another kind than the label."""
    is_real = schema.label.is_real
    if loss.classification == is_real:
        kind = "a real-valued target" if is_real else "two classes"
        fitting = "ridge" if is_real else "logistic, huber-svm or hinge-svm"
        raise InvalidInputError(
            f"The loss {loss.name} does not fit a label with {kind}; use --loss {fitting}."
        )


def check_fits(optimizer: Optimizer, problem: Problem, accountant: Accountant) -> None:
    """Raise InvalidInputError, naming both parties, if a declared need is not met."""
    from dpcore.losses.facts import loss_facts

    name = getattr(type(optimizer), "name", type(optimizer).__name__)
    relation = problem.relation.value
    if relation not in optimizer.relations:
        raise InvalidInputError(
            f"{name} has no guarantee under {relation}; it has one under: "
            f"{', '.join(optimizer.relations)}."
        )
    loss = problem.loss
    facts = loss_facts(loss)
    own = f"its own is {getattr(optimizer, 'accountant', 'zcdp')}"
    unmet = {
        "classification": not loss.classification,
        "lipschitz-loss": not math.isfinite(loss.lipschitz),
        "smooth-loss": not math.isfinite(loss.smoothness),
        "convex-loss": not facts.convex,
        "squared-loss": not facts.quadratic,
        "strong-convexity": not problem.l2 > 0,
        "adaptive-accountant": not accountant.fully_adaptive,
    }
    advice = {
        "classification": f"a classification loss, and {loss.name} is for real-valued targets",
        "lipschitz-loss": f"a Lipschitz loss, and {loss.name} has no bound on its slope",
        "smooth-loss": f"a smooth loss, and {loss.name} has a kink; use huber-svm or logistic",
        "convex-loss": f"a convex loss, and {loss.name} does not declare convex = True",
        "squared-loss": f"squared loss (--loss ridge), and {loss.name} is another",
        "strong-convexity": "strong convexity; pass --l2 greater than 0",
        "adaptive-accountant": f"a fully adaptive filter, and {accountant.name} is none; {own}",
    }
    adaptive = () if "fixed-schedule" in optimizer.needs else ("adaptive-accountant",)
    for need in (*optimizer.needs, *adaptive):
        if need in ("fixed-schedule", "user-pool"):
            continue
        if need not in unmet:
            raise InvalidInputError(f"{name} declares the unknown need {need!r}.")
        if unmet[need]:
            raise InvalidInputError(f"{name} needs {advice[need]}{_instead(need, relation)}.")


def _instead(need: str, relation: str) -> str:
    """Return the end of a sentence: which installed algorithms of a session do without l2."""
    if need != "strong-convexity":
        return ""
    from dpcore.registry.catalogue import load_registry
    from dpcore.registry.contract import load_optimizer

    registry, able = load_registry(), []
    for entry in registry.entries("optimizer"):
        try:
            factory = load_optimizer(registry, entry.name)
            fits = relation in factory.relations and not {need, "user-pool"} & {*factory.needs}
            if fits and getattr(factory, "private", True) is True:
                able.append(entry.name)
        except RegistryError:
            continue
    return f", or choose an algorithm that does without: {', '.join(able)}" if able else ""
