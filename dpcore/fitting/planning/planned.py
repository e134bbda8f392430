"""The plan of a fit, as data: the parts that its settings name, built and checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.accountants.registered import target_of
from dpcore.fitting.planning.memory import Bytes, memory_of
from dpcore.fitting.planning.slots import accountants_for
from dpcore.fitting.steps.weights import BALANCED, weighing
from dpcore.model.details import plain
from dpcore.privacy.exact_copies import exact_copy
from dpcore.privacy.immutable import private_copy
from dpcore.registry.catalogue import Registration, load_registry
from dpcore.registry.step_class import foreign_step
from dpcore.registry.tables.optimizer_spec import accountant_facts, engine_facts, optimizer_facts

if TYPE_CHECKING:
    from dpcore.fitting.request.settings import Settings
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Accountant, Engine, Loss
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.problem import Problem
    from dpcore.registry.expected_utility import ExpectedUtility
    from dpcore.registry.tables.parts import EngineFacts

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """The parts of one fit, built and checked; nothing of it depends on the data."""

    settings: Settings
    entry: Registration
    optimizer: Optimizer
    use: dict[str, str]
    loss: Loss
    accountant: Accountant
    relation: NeighboringRelation
    engine: type[Engine]
    chosen_by: dict[str, str] | None
    """The name that was asked for, and why it stood for this algorithm, where it is another."""
    targets: tuple[str, ...]
    """``"module:Attribute"`` under which the parts inside the trust boundary are registered: what
    a part says of its own module may be borrowed."""
    expected_utility: Callable[..., ExpectedUtility | None] | None = None
    """The question for the expected utility of a run by the name that was asked for; ``None``:
    unstated."""
    is_part: bool = False
    """Whether the accountant is a part of a larger budget, to be held as it is."""

    accountants_for = staticmethod(accountants_for)

    @property
    def engine_facts(self) -> EngineFacts:
        """The facts that its engine states."""
        return engine_facts(self.engine)

    def parameters(self) -> dict[str, Any] | None:
        """Return the hyper-parameters as JSON-able data, without the slots; of a run of published
        code those that it takes, ``None`` where it has constants of its own alone."""
        optimizer: Any = self.optimizer
        if self.settings.as_published:
            taken = optimizer_facts(optimizer).published_options
            return {name: plain(getattr(optimizer, name)) for name in taken} or None
        return {
            f.name: plain(getattr(optimizer, f.name))
            for f in dataclasses.fields(optimizer)
            if f.init and f.name not in ("use", "as_published")
        }

    def with_shared_accountant(self) -> Plan:
        """Return the plan under the accountant that its optimizer names for a budget that is
        shared, where it has its usual one and that is for a fixed schedule alone.

        An accountant that was named, by ``--accountant`` or by a preset, stays, and so does the
        rule of ``--conversion``, which is one of the usual accountant's.
        """
        stated, settings = optimizer_facts(self.optimizer), self.settings
        preset = {} if settings.preset is None else stated.presets[settings.preset]
        is_named = settings.accountant or settings.conversion or "accountant" in preset
        usual = self.accountant
        if not stated.shared_accountant or is_named or accountant_facts(usual).fully_adaptive:
            return self
        shared = load_registry().load("accountant", stated.shared_accountant)
        accountant = shared.from_budget(usual.epsilon, usual.delta, None)
        others = [target for target in self.targets if target not in target_of(usual)]
        targets = (*target_of(accountant), *others)
        return dataclasses.replace(self, accountant=accountant, targets=targets)

    def utility_of(self, problem: Problem) -> ExpectedUtility | None:
        """Return the expected utility of a run; ``None`` where it is unstated."""
        if self.expected_utility is None:
            return None
        return self.expected_utility(private_copy(problem), exact_copy(self.accountant))

    def memory_of(self, problem: Problem) -> Bytes:
        """Return the bytes that a run takes beside its rows, about; as text they are in words."""
        return memory_of(self.optimizer, problem)

    def with_weights(self, weights: tuple[float, ...]) -> Plan:
        """Return the plan with these weights of the classes, in their order, in place of those that
        its loss has: none for ``()``. Rows have weights where its settings have a bound of them.

        What weighs is a part of the run, as its loss is.
        """
        bound, targets = self.settings.weight_bound, (*self.targets, *foreign_step(BALANCED))
        loss = weighing().weighted(self.loss, weights, bound)
        return dataclasses.replace(self, loss=loss, targets=targets)

    def why_not_private(self) -> tuple[str, ...]:
        """Return what was asked for that voids the guarantee, as clauses."""
        reasons = []
        stated = optimizer_facts(self.optimizer)
        if stated.as_published:
            reasons.append(
                f"{self.entry.name} ran as its authors published it, {stated.published_is}"
            )
        promised = optimizer_facts(type(self.optimizer)), accountant_facts(type(self.accountant))
        if not all(facts.private for facts in promised):
            reasons.append(f"{self.entry.name} is given exact answers, without noise")
        if self.settings.seed is not None:
            reasons.append("the noise came from a seed")
        return tuple(reasons)
