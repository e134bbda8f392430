"""A fit whose users are elsewhere: of their rows the schema is known here, and what they send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore.fitting.fitted import make_model
from dpcore.fitting.loading import schema_reasons
from dpcore.fitting.public_facts import check_public
from dpcore.fitting.users import fit_users
from dpcore.privacy.statement import part_of
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.plan import Plan
    from dpcore.model.model import Model
    from dpcore.protocols.user_pool import UserPool

__all__ = ["fit_pool"]


def fit_pool(plan: Plan, schema: Schema, pool: UserPool) -> Model:
    """Return the model of a plan whose users a pool reaches.

    Raises InvalidInputError for a plan that asks no users or does not fit the schema, and
    BudgetExceededError if none can join the first round; both before anything is spent.
    """
    if "user-pool" not in plan.optimizer.needs:
        raise InvalidInputError(f"{plan.entry.name} needs all rows in one place.")
    problem = check_public(plan, schema, sum(user.n_rows for user in pool.users)).problem
    charges = Charges()
    trusted = (part_of(plan.loss), *plan.targets)
    with charges.told():
        solution, statement = fit_users(
            plan, problem, pool, charges, trusted, schema_reasons(schema)
        )
        return make_model(plan, schema, problem.l2, solution, (), statement)
