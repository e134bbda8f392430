"""A fit whose rows stay with users: the pool that holds them, and what is stated afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.accountants.registered import target_of
from dpcore.errors import InvalidInputError
from dpcore.fitting.fitted import make_model
from dpcore.fitting.loading import schema_reasons
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.fitting.pools import load_pool
from dpcore.fitting.public_facts import check_public
from dpcore.privacy.statement import PrivacyStatement, foreign_parts, part_of
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import optimizer_facts
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planned import Plan
    from dpcore.model.model import Model
    from dpcore.protocols.problem import Problem, Solution
    from dpcore.protocols.user_pool import UserPool
    from dpcore.session.charges import Figures

__all__ = ["fit_pool", "fit_users", "open_pool", "state_of_users"]

_UNIT = "rounds of the user who may join most"


def open_pool(plan: Plan, dataset: Dataset) -> UserPool:
    """Return the users of a plan, none of whom was asked anything yet."""
    settings, empty = plan.settings, plan.accountant
    is_planned = settings.epsilon is not None or settings.users is None
    return load_pool(load_registry()).open(
        settings.users,
        dataset,
        plan.loss,
        empty,
        rows_per_user=optimizer_facts(plan.optimizer).rows_per_user,
        reference=(empty.epsilon, empty.delta) if is_planned else None,
        trust=settings.trust,
        threads=settings.threads,
        seed=settings.seed,
    )


def fit_users(
    plan: Plan,
    problem: Problem,
    pool: UserPool,
    charges: Charges,
    trusted: tuple[str, ...],
    why_not_private: tuple[str, ...],
    typed_by: str | None = None,
    secret_rows: bool = True,
) -> tuple[Solution, PrivacyStatement]:
    """Return the solution of a plan whose optimizer asks users, and its statement; ``charges``
    follows what the users are charged.

    ``trusted`` : parts inside the trust boundary beside filter and pool. ``typed_by`` : the data
    set's, where all rows are of one.

    Raises BudgetExceededError if no user can join the first round, before anything is spent.
    """
    charges.follow(lambda: _charged(pool))
    asked: Any = pool
    solution = run_optimizer(plan.optimizer, plan.entry, problem, asked, secret_rows=secret_rows)
    return solution, state_of_users(plan, pool, why_not_private, trusted, typed_by)


def fit_pool(plan: Plan, schema: Schema, pool: UserPool) -> Model:
    """Return the model of a plan whose users a pool reaches.

    Raises InvalidInputError for a plan that asks no users or does not fit the schema, and
    BudgetExceededError if none can join the first round; both before anything is spent.
    """
    if "user-pool" not in plan.optimizer.needs:
        raise InvalidInputError(f"{plan.entry.name} needs all rows in one place.")
    problem = check_public(plan, schema, sum(user.n_rows for user in pool.users)).problem
    charges = Charges()
    kinds = {type(column) for column in schema.columns}
    trusted = (part_of(plan.loss), *plan.targets, *map(part_of, kinds))
    with charges.told():
        solution, statement = fit_users(
            plan, problem, pool, charges, trusted, schema_reasons(schema)
        )
        return make_model(plan, schema, problem.l2, solution, (), statement)


def _charged(pool: UserPool) -> Figures | None:
    """Return rounds joined, rounds allowed and their unit; ``None`` where nobody was charged."""
    joined = int(pool.rounds_joined.max(initial=0))
    return (joined, int(pool.rounds_allowed.max(initial=0)), _UNIT) if joined else None


def state_of_users(
    plan: Plan,
    pool: UserPool,
    why_not_private: tuple[str, ...],
    trusted: tuple[str, ...],
    typed_by: str | None = None,
) -> PrivacyStatement:
    """Return the privacy statement of a fit whose rows stay with users."""
    epsilons = [user.epsilon for user in pool.users]
    deltas = [user.delta for user in pool.users]
    used = pool.filter_of(*pool.reference)
    parts = (part_of(used), *target_of(used), part_of(pool), *trusted)
    rules = pool.rules
    return PrivacyStatement(
        epsilon=max(epsilons),
        delta=max(deltas),
        relation=plan.relation.value,
        accountant=used.name,
        conversion=used.conversion,
        unit=_UNIT,
        budget=int(pool.rounds_allowed.max()),
        spent=int(pool.rounds_joined.max()),
        releases={"gradient": int(pool.rounds_joined.sum())},
        parts_not_from_dpcore=foreign_parts(parts),
        why_not_private=(
            *plan.why_not_private(),
            *(() if rules is None else rules.why_not_private(plan.relation)),
            *why_not_private,
        ),
        typed_by=typed_by,
        users={
            "count": len(pool.users),
            "epsilon": [min(epsilons), max(epsilons)],
            "delta": [min(deltas), max(deltas)],
            "trust_model": pool.trust,
            "server_sees": "nothing yet" if rules is None else rules.server_sees,
        },
    )
