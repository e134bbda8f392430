"""A fit whose rows stay with users: who they are, the pool, and what is stated afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.fitting.fitted import make_model
from dpcore.fitting.loading import schema_reasons
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.fitting.public_facts import check_public
from dpcore.pools.budgets import Filters
from dpcore.pools.in_process import InProcessPool
from dpcore.pools.terms import TRUST_MODELS, User
from dpcore.pools.users_file import alike_users, read_users
from dpcore.privacy.statement import PrivacyStatement, foreign_parts, part_of
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.plan import Plan
    from dpcore.model.model import Model
    from dpcore.pools.terms import Terms
    from dpcore.protocols.problem import Problem, Solution
    from dpcore.protocols.user_pool import UserPool
    from dpcore.session.charges import Figures

__all__ = ["fit_pool", "fit_users", "open_pool", "state_of_users"]

_UNIT = "rounds of the user who may join most"


def fit_users(
    plan: Plan, dataset: Dataset, problem: Problem, charges: Charges, secret_rows: bool = True
) -> tuple[Solution, InProcessPool]:
    """Return the solution of a plan whose optimizer asks users, all of them in this process, and
    lets ``charges`` follow what they are charged.

    Raises InvalidInputError or DataError for users who do not own the rows, BudgetExceededError if
    none can join the first round; both before anything is spent.
    """
    pool = open_pool(plan, dataset)
    charges.follow(lambda: _charged(pool))
    asked: Any = pool
    solution = run_optimizer(plan.optimizer, plan.entry, problem, asked, secret_rows=secret_rows)
    return solution, pool


def fit_pool(plan: Plan, schema: Schema, pool: UserPool) -> Model:
    """Return the model of a plan whose users are elsewhere: of their rows the schema is known here,
    and what they send.

    Raises InvalidInputError for a plan that asks no users or does not fit the schema, and
    BudgetExceededError if none can join the first round; both before anything is spent.
    """
    if "user-pool" not in plan.optimizer.needs:
        raise InvalidInputError(f"{plan.entry.name} needs all rows in one place.")
    problem = check_public(plan, schema, sum(user.n_rows for user in pool.users)).problem
    charges = Charges()
    charges.follow(lambda: _charged(pool))
    asked: Any = pool
    with charges.told():
        solution = run_optimizer(plan.optimizer, plan.entry, problem, asked)
        trusted = (part_of(plan.loss), *plan.targets)
        statement = state_of_users(plan, pool, schema_reasons(schema), trusted)
        return make_model(plan, schema, problem.l2, solution, (), statement)


def _charged(pool: UserPool) -> Figures | None:
    """Return rounds joined, rounds allowed and their unit; ``None`` where nobody was charged."""
    joined = int(pool.rounds_joined.max(initial=0))
    return (joined, int(pool.rounds_allowed.max(initial=0)), _UNIT) if joined else None


def open_pool(plan: Plan, dataset: Dataset) -> InProcessPool:
    """Return the users of a plan, none of whom was asked anything yet."""
    trust = plan.settings.trust or TRUST_MODELS[0]
    if trust not in TRUST_MODELS:
        raise InvalidInputError(f"Expected trust={trust!r} to be {' or '.join(TRUST_MODELS)}.")
    empty = plan.accountant
    if empty.name == "best" and plan.settings.users is not None:
        raise InvalidInputError("Users of several budgets need one accountant by name, not best.")
    given = plan.settings.epsilon is not None or plan.settings.users is None
    return InProcessPool(
        _users(plan, int(dataset.X.shape[0])),
        dataset,
        plan.loss,
        Filters(empty),
        seed=plan.settings.seed,
        trust=trust,
        threads=plan.settings.threads,
        reference=(empty.epsilon, empty.delta) if given else None,
    )


def _users(plan: Plan, n_rows: int) -> Sequence[User]:
    optimizer: Any = plan.optimizer
    users, size = plan.settings.users, optimizer.rows_per_user
    if users is None:
        return alike_users(n_rows, size, plan.accountant.epsilon, plan.accountant.delta)
    if isinstance(users, (list, tuple)):
        if not all(isinstance(user, User) for user in users):
            raise InvalidInputError("Expected users to be a path, or dpcore.pools.User objects.")
        return users
    return read_users(users, n_rows, size)


def _server_sees(terms: Terms | None) -> str:
    """Return what the trust model means, as a clause."""
    if terms is None or not terms.is_secure:
        return (
            "each user adds all of the noise, and the server sees every noisy gradient and who "
            "sent it"
        )
    return (
        "each user adds a share of the noise, and the server sees who joins and the sum over them, "
        f"never of fewer than {terms.threshold} users; that holds as long as at most "
        f"{terms.colluding} of them collude; in this process the masks are simulated"
    )


def _why_not_private(plan: Plan, terms: Terms | None) -> tuple[str, ...]:
    """Return what an optimizer's terms void, whatever it declares, as clauses."""
    if terms is None:
        return ()
    reasons = []
    if terms.neighbors is not plan.relation:
        reasons.append(f"the users' noise was for {terms.relation}")
    if terms.noise_multiplier == 0:
        reasons.append("the users added no noise")
    if terms.as_published:
        reasons.append("the noise was for the clip alone, and users left a round late")
    return tuple(reasons)


def state_of_users(
    plan: Plan,
    pool: UserPool,
    why_not_private: tuple[str, ...],
    trusted: tuple[str, ...],
    typed_by: str | None = None,
) -> PrivacyStatement:
    """Return the privacy statement of a fit whose rows stay with users. ``typed_by`` : the data
    set's, where all rows are of one."""
    epsilons = [user.epsilon for user in pool.users]
    deltas = [user.delta for user in pool.users]
    used = pool.filter_of(*pool.reference)
    parts = (part_of(used), part_of(pool), *trusted)
    return PrivacyStatement(
        epsilon=max(epsilons),
        delta=max(deltas),
        neighboring_relation=plan.relation.value,
        accountant=used.name,
        conversion=used.conversion,
        unit=_UNIT,
        budget=int(pool.rounds_allowed.max()),
        spent=int(pool.rounds_joined.max()),
        releases={"gradient": int(pool.rounds_joined.sum())},
        parts_not_from_dpcore=foreign_parts(parts),
        why_not_private=(
            *plan.why_not_private(),
            *_why_not_private(plan, pool.terms),
            *why_not_private,
        ),
        typed_by=typed_by,
        users={
            "count": len(pool.users),
            "epsilon": [min(epsilons), max(epsilons)],
            "delta": [min(deltas), max(deltas)],
            "trust_model": pool.trust,
            "server_sees": _server_sees(pool.terms),
        },
    )
