"""A run between two of its steps, and what all its sessions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.fitting.planning.public_facts import with_default_l2
from dpcore.fitting.planning.ready import Ready
from dpcore.fitting.reporting import charged_in, summarise, why_released
from dpcore.fitting.rows.run_rows import RunRows
from dpcore.fitting.steps.pre_fit_release import dry_run_optimizer
from dpcore.fitting.steps.views import PublicFacts
from dpcore.session.session import TableSession
from dpcore.session.trust_boundary import TrustedParts

if TYPE_CHECKING:
    from dpcore.fitting.planning.planned import Plan
    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.events import DpEvent
    from dpcore.protocols import Accountant, Engine
    from dpcore.session.charges import Charges
    from dpcore.session.ledger import ChargeLog, LedgerEntry
    from dpcore.session.sequential_sessions import OnRelease

__all__ = ["RunSessions", "RunState"]


@dataclass(frozen=True, eq=False)
class RunSessions:
    """The sessions of a run: one source of noise, one ledger, one record of parts and one place to
    tell for all of them.

    ``charges`` : tells what was charged if the run ends on the way.
    """

    noise: NoiseSource
    on_release: OnRelease
    charges: Charges
    ledger: ChargeLog[LedgerEntry]
    parts: TrustedParts = field(default_factory=TrustedParts, init=False)

    def session(self, engine: Engine, accountant: Any, problem: Any, **told: Any) -> TableSession:
        """Return a session over the rows of an engine, under what its filter has left."""
        asked = engine, accountant, problem.relation, self.noise
        told = {"on_release": self.on_release, "ledger": self.ledger, "earlier": self.parts, **told}
        return TableSession(*asked, problem=problem, **told)

    def follow(self, released: Any) -> None:
        """Tell of these charges if the run ends from now on."""
        self.charges.follow(partial(charged_in, released))

    def why_not_private(self, plan: Plan) -> tuple[str, ...]:
        """Return why what was released voids the guarantee."""
        return why_released(plan, self.ledger.entries, self.parts.not_private)

    def summary(self) -> tuple[dict[str, Any], ...]:
        """Return the releases, kind by kind, with their cost."""
        return summarise(self.ledger.entries)


@dataclass(frozen=True, eq=False)
class RunState:
    """A run between two of its steps.

    Parameters
    ----------
    facts : that steps see. ``rows`` : that they do not.
    accountant : what the run's filter has left for the optimizer.
    charged_for : the events of the releases that a step stated, by its name.
    stated : of releases that were made, by the name of their step.
    step_data : for the model file, of steps of dpcore, by name: each has a field of its own there.
    sections : the same of other steps.
    solution : the optimizer's, or that of the last step of the result that altered it; ``None``
        before there is one.
    needs_dry_run : whether there is a dry run of the optimizer after each step; not where the
        caller makes it.
    """

    facts: PublicFacts
    rows: RunRows
    accountant: Accountant
    charged_for: Mapping[str, tuple[DpEvent, ...]] = field(default_factory=dict)
    stated: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    step_data: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    solution: Any = None
    needs_dry_run: bool = True

    def weighted(self, weights: tuple[float, ...]) -> RunState:
        """Return the run with these weights of the classes, in their order; as it is for ``()``."""
        if not weights:
            return self
        plan = self.facts.plan.with_weights(weights)
        problem = replace(self.facts.problem, loss=plan.loss, l2=plan.settings.l2 or 0.0)
        ready = Ready(plan, with_default_l2(problem, plan), plan)
        return replace(self, facts=replace(self.facts, ready=ready))

    def dry_run(self, accountant: Accountant, ledger: ChargeLog[LedgerEntry]) -> TableSession:
        """Return the session of its optimizer on no rows, after its first release under what a
        filter has left: what refuses it refuses now (``dry_run_optimizer``)."""
        return dry_run_optimizer(
            self.facts.ready, self.rows.none(), self.facts.schema, accountant, ledger
        )
