"""A fit whose rows stay with users: the pool that holds them, and what is stated afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from dpcore.plugin import InvalidInputError, NeighboringRelation, Settings
from dpcore.plugin.commands import Plan, Run
from dpcore.plugin.parts import optimizer_facts
from dpcore_a_ddp.users.pools import load_pool

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Dataset, Model
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["Users", "fit_pool"]

_UNIT = "rounds of the user who may join most"


@dataclass(frozen=True, kw_only=True)
class SourceStatement:
    """The charges of a source, as it states them for the privacy statement of a run.

    Parameters
    ----------
    fields : of the statement's fields ``epsilon``, ``delta``, ``accountant``, ``conversion``,
        ``unit``, ``budget``, ``spent``, ``releases`` and ``users``.
    why_not_private : what voids the guarantee, as clauses.
    parts : its parts that are inside the trust boundary: objects, or ``"module:Class"``.
    """

    fields: Mapping[str, Any]
    why_not_private: tuple[str, ...] = ()
    parts: tuple[Any, ...] = ()


class Users:
    """Users who keep their rows, as what answers an optimizer (``dpcore.plugin.parts``'
    ``AnswerSource``): each charges a filter of its own before its rows are asked.

    ``target`` : the ``"module:Class"`` under which the pool was found, if it was.
    """

    def __init__(self, pool: UserPool, target: str | None = None) -> None:
        self._pool, self._target = pool, target

    @classmethod
    def refuse(cls, optimizer: Any, settings: Settings, of_loss: Mapping[str, Any]) -> None:
        """Refuse parameters of a loss, which the rules that users agree on only name, an engine,
        and trust models that the optimizer does not run under."""
        if of_loss:
            raise InvalidInputError(
                f"{settings.algo} asks users, whose rules say a loss by name alone: expected no "
                f"loss.{next(iter(of_loss))}."
            )
        known = getattr(optimizer, "trust_models", ("local",))
        if settings.trust not in (None, *known):
            raise InvalidInputError(
                f"{settings.algo} runs under trust {' or '.join(known)}, not {settings.trust!r}."
            )
        if settings.engine != Settings.engine:
            raise InvalidInputError(f"{settings.algo} asks users: no engine sums over their rows.")

    @classmethod
    def usual_accountant(cls, optimizer: Any, settings: Settings) -> str:
        """Return the accountant of shares of noise, which are another distribution: of Poisson
        samples ``rdp``, whose bound of them is proved under replace-special."""
        if settings.trust != "secure-aggregation":
            return ""
        chosen = {**optimizer.presets.get(settings.preset, {}), **settings.params}
        drawn = chosen.get("rate") not in (None, "none")
        sampled = drawn and settings.relation == NeighboringRelation.REPLACE_SPECIAL.value
        name: str = getattr(optimizer, "filter_of_samples" if sampled else "filter_of_shares", "")
        return name

    @classmethod
    def open(cls, plan: Plan, dataset: Dataset) -> Self:
        """Return the users of a plan, none of whom was asked anything yet."""
        settings, empty = plan.settings, plan.accountant
        is_planned = settings.epsilon is not None or settings.users is None
        optimizer: Any = plan.optimizer
        kind, target = load_pool()
        pool = kind.open(
            settings.users,
            dataset,
            plan.loss,
            empty,
            rows_per_user=optimizer.rows_per_user,
            reference=(empty.epsilon, empty.delta) if is_planned else None,
            trust=settings.trust,
            threads=settings.threads,
            seed=settings.seed,
        )
        return cls(pool, target)

    @property
    def asked(self) -> UserPool:
        """The pool: what a server gets."""
        return self._pool

    def charged(self) -> tuple[int, int, str] | None:
        """Return rounds joined, rounds allowed and their unit; ``None`` where nobody was
        charged."""
        joined = int(self._pool.rounds_joined.max(initial=0))
        return (joined, int(self._pool.rounds_allowed.max(initial=0)), _UNIT) if joined else None

    def stated(self, relation: NeighboringRelation) -> SourceStatement:
        """Return what the statement says of users: the largest budget, and who they are."""
        pool = self._pool
        epsilons = [user.epsilon for user in pool.users]
        deltas = [user.delta for user in pool.users]
        used, rules = pool.filter_of(*pool.reference), pool.rules
        named = () if self._target is None else (self._target,)
        fields = {
            "epsilon": max(epsilons),
            "delta": max(deltas),
            "accountant": used.name,
            "conversion": used.conversion,
            "unit": _UNIT,
            "budget": int(pool.rounds_allowed.max()),
            "spent": int(pool.rounds_joined.max()),
            "releases": {"gradient": int(pool.rounds_joined.sum())},
            "users": {
                "count": len(pool.users),
                "epsilon": [min(epsilons), max(epsilons)],
                "delta": [min(deltas), max(deltas)],
                "trust_model": pool.trust,
                "server_sees": "nothing yet" if rules is None else rules.server_sees,
            },
        }
        return SourceStatement(
            fields=fields,
            why_not_private=() if rules is None else rules.why_not_private(relation),
            parts=(used, pool, *named),
        )

    @classmethod
    def checks(cls) -> tuple[Callable[[Any], Any], ...]:
        """Return the admission test of an optimizer that asks users."""
        return load_pool()[0].checks()


def fit_pool(plan: Plan, schema: Schema, pool: UserPool) -> Model:
    """Return the model of a plan whose users a pool reaches.

    Raises InvalidInputError for a plan that asks no users or does not fit the schema, and
    BudgetExceededError if none can join the first round; both before anything is spent.
    """
    if optimizer_facts(plan.optimizer).answered_by != f"{__name__}:{Users.__name__}":
        raise InvalidInputError(f"{plan.entry.name} needs all rows in one place.")
    return Run.answered(plan, schema, Users(pool), sum(user.n_rows for user in pool.users))
