"""A search: private fits of several candidates, and the best of them, as one release.

Two kinds. ``random``: a random number of tries, each of a random candidate, and the best by a
private score (``dpcore_tuning.repetition``; what a try may cost: ``dpcore_tuning.stopping_cost``).
``list``: every candidate once, in equal parts of the budget (``dpcore.accountants.equal_parts``),
and one of the models, chosen on rows held out. Either way the rows held out cost nothing beside the
fits (``dpcore_tuning.held_out``), and the whole is one event: charged before anything is drawn,
without entries of its tries. Steps beside a search have their shares of the same budget
(``dpcore_tuning.beside``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from dpcore.errors import InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import (
    Account,
    PrivacyStatement,
    PureAccountant,
    Registry,
    load_registry,
    optimizer_facts,
)
from dpcore_tuning.candidates import settings_of
from dpcore_tuning.scores import MEASURES
from dpcore_tuning.stopping_cost import filter_of_a_try, whole_filter
from dpcore_tuning.stopping_distributions import StoppingDistribution, stopping_distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin import Accountant, NeighboringRelation
    from dpcore.plugin.commands import Plan
    from dpcore_tuning.candidates import Candidate

__all__ = ["KINDS", "Search", "WholeBudget", "make_search"]

KINDS = ("random", "list")
_NOT_SEARCHED = ("rho", "mu", "epsilon_max", "multiclass", "class_weight", "users")


@dataclass(frozen=True)
class WholeBudget:
    """The budget of a search as a ledger is charged it: whole, as one (epsilon, delta) release."""

    epsilon: float
    delta: float
    name: str = "search"

    @classmethod
    def from_budget(cls, epsilon: float, delta: float, conversion: str | None = None) -> Self:
        """Return the budget of a search at (epsilon, delta)."""
        return cls(epsilon, delta)


@dataclass(frozen=True)
class Search:
    """A search, checked as far as can be without rows.

    Parameters
    ----------
    candidates : as they were named. ``plans`` : of each, whose accountant is the filter of one fit.
    whole : the empty filter of all fits and of the steps beside them.
    distribution : of the number of tries; ``None`` for every candidate once.
    epsilon, delta : what the whole search guarantees, steps beside it included.
    measure : of a score. ``held_out`` : the share of the rows that scores are of.
    """

    candidates: tuple[Candidate, ...]
    plans: tuple[Plan, ...]
    whole: Accountant
    distribution: StoppingDistribution | None
    epsilon: float
    delta: float
    measure: str
    held_out: float

    @property
    def relation(self) -> NeighboringRelation:
        return self.plans[0].relation

    @property
    def rests_on(self) -> tuple[str, ...]:
        """``"module:Class"`` of the algorithms, by class and registration, that have to keep
        nothing from one fit to the next. The theorems of a random number of tries are about tries
        that are independent, and only the best is seen. Of a list, in equal parts of the budget,
        every model could be released."""
        if self.distribution is None:
            return ()
        named = [
            (PrivacyStatement.part_of(plan.optimizer), plan.entry.target) for plan in self.plans
        ]
        return tuple(sorted({part for pair in named for part in pair}))

    def within(self, left: Any) -> Search:
        """Return the search whose fits are within what its whole filter has left."""
        if self.distribution is None:
            part = Account.equal_part(left, len(self.plans))
        else:
            part = filter_of_a_try(self.distribution, self.plans[0].accountant.name, left)
        plans = (replace(plan, accountant=part, is_part=True) for plan in self.plans)
        return replace(self, plans=tuple(plans))


def make_search(
    settings: Settings,
    candidates: Sequence[Candidate],
    *,
    kind: str = "random",
    law: str = "geometric",
    tries: float = 10.0,
    eta: float | None = None,
    measure: str | None = None,
    held_out: float = 0.2,
) -> Search:
    """Return the search that is asked for.

    ``settings`` : of all fits; epsilon, delta and the accountant are those of the search.
    ``tries`` : about how many in the mean. ``measure`` : ``error`` by default, ``loss`` where the
    target is a number.
    Raises InvalidInputError or RegistryError for what cannot be searched.
    """
    _check_asked(settings, kind, held_out)
    epsilon = 1.0 if settings.epsilon is None else settings.epsilon
    whole = replace(settings, epsilon=epsilon)
    if kind == "random":
        drawn = stopping_distribution(law, tries, eta)
        filter, plans = _of_tries(whole, candidates, drawn)
    else:
        drawn = None
        filter, plans = _of_list(whole, candidates)
    delta = 0.0 if isinstance(filter, PureAccountant) else settings.delta
    for plan in plans:
        _check(plan, plans[0])
    measure = measure or ("error" if plans[0].loss.classification else "loss")
    _check_measure(measure, plans[0], candidates)
    listed = tuple(dict(candidate) for candidate in candidates)
    return Search(listed, tuple(plans), filter, drawn, float(epsilon), delta, measure, held_out)


def _check_asked(settings: Settings, kind: str, held_out: float) -> None:
    if kind not in KINDS:
        raise InvalidInputError(f"Expected search={kind!r} to be one of {', '.join(KINDS)}.")
    for name in _NOT_SEARCHED:
        if getattr(settings, name) != getattr(Settings, name):
            raise InvalidInputError(f"A search takes no {name}.")
    if not 0.0 < held_out < 1.0:
        raise InvalidInputError(f"Expected 0 < held-out={held_out!r} < 1.")
    _check_algorithm(settings.algo)


def _check_measure(measure: str, plan: Plan, candidates: Sequence[Candidate]) -> None:
    """Refuse a score that does not compare the candidates, or is not of the label."""
    if measure not in MEASURES:
        raise InvalidInputError(f"Expected score={measure!r} to be one of {', '.join(MEASURES)}.")
    named = {name for candidate in candidates for name in candidate}
    if measure == "loss" and any(name.startswith(f"{Settings.OF_LOSS}.") for name in named):
        raise InvalidInputError(
            "Candidates of several losses are compared by the score error only."
        )
    if measure == "error" and not plan.loss.classification:
        raise InvalidInputError("The label is a number: expected the score loss.")


def _check_algorithm(name: str) -> None:
    """Raise InvalidInputError for an algorithm that has no budget which a search could divide;
    before plans are made, whose refusals name options that a search has not."""
    stated = optimizer_facts(load_registry().load("optimizer", name))
    reasons = {
        "its rows stay with users, who have a budget each": bool(stated.answered_by),
        "its epsilon is an output": bool(stated.targets),
    }
    _refuse(name, reasons)


_Planned = tuple[Any, list[Any]]
"""The filter of the whole, and the plans of the fits."""


def _of_tries(
    settings: Settings, candidates: Sequence[Candidate], distribution: StoppingDistribution
) -> _Planned:
    """Return the filter, and plans of fits that each have the whole of a try's, as it is."""
    name = settings.accountant or ("zcdp" if settings.delta else "pure")
    assert settings.epsilon is not None
    whole = whole_filter(distribution, name, settings.epsilon, settings.delta)
    part = filter_of_a_try(distribution, name, whole)
    each = replace(settings, accountant=name, epsilon=part.epsilon)
    plans = [make_plan(one) for one in settings_of(each, candidates)]
    return whole, [replace(plan, accountant=part, is_part=True) for plan in plans]


def _of_list(settings: Settings, candidates: Sequence[Candidate]) -> _Planned:
    """Return the filter, and plans of fits that each have an equal part of it."""
    plans = [make_plan(one).with_shared_accountant() for one in settings_of(settings, candidates)]
    filters = {type(plan.accountant) for plan in plans}
    if len(filters) > 1:
        raise InvalidInputError("The candidates run under several accountants: name one.")
    return plans[0].accountant, [
        replace(
            plan,
            accountant=Account.equal_part(plan.accountant, len(plans)),
            is_part=Registry.facts_of("accountant", plan.accountant).splits,
        )
        for plan in plans
    ]


def _check(plan: Plan, first: Plan) -> None:
    stated, name = optimizer_facts(plan.optimizer), plan.entry.name
    promised = Registry.facts_of("accountant", type(plan.accountant))
    reasons = {
        "it opens a filter of an epsilon that it needs": stated.needed_epsilon is not None,
        "it promises no privacy": not (stated.private and promised.private),
        "its relation is not that of the first candidate": plan.relation is not first.relation,
    }
    _refuse(name, reasons)


def _refuse(name: str, reasons: dict[str, bool]) -> None:
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInputError(f"{name} cannot be searched: {reason}.")
