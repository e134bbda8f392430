"""A fit whose optimizer is answered by a source of its own, in place of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.accountants.registered import target_of
from dpcore.errors import InvalidInputError
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.fitting.planning.public_facts import check_public
from dpcore.fitting.training import make_model
from dpcore.privacy.first_party import part_of
from dpcore.privacy.statement import PrivacyStatement, foreign_parts
from dpcore.registry.tables.optimizer_spec import optimizer_facts
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.model.model import Model
    from dpcore.protocols.answer_source import AnswerSource
    from dpcore.protocols.problem import Problem, Solution

__all__ = ["fit_answered", "fit_source", "open_source"]


def open_source(plan: Plan, dataset: Dataset) -> tuple[AnswerSource, str]:
    """Return the source that answers a plan's optimizer, and the name of what was given the rows to
    open it, which may hand out another's. Nothing was asked of it yet."""
    kind = optimizer_facts(plan.optimizer).load_source()
    return kind.open(plan, dataset), part_of(kind)


def fit_answered(
    plan: Plan,
    problem: Problem,
    source: AnswerSource,
    charges: Charges,
    trusted: tuple[str, ...],
    why_not_private: tuple[str, ...],
    typed_by: str | None = None,
    secret_rows: bool = True,
) -> tuple[Solution, PrivacyStatement]:
    """Return the solution of a plan whose optimizer asks a source, and its statement; ``charges``
    follows what the source charges.

    ``trusted`` : parts inside the trust boundary beside the source. ``typed_by`` : the data set's,
    where all rows are of one.
    """
    charges.follow(source.charged)
    entry, asked = plan.entry, source.asked
    solution = run_optimizer(plan.optimizer, entry, problem, asked, secret_rows=secret_rows)
    named = optimizer_facts(plan.optimizer).answered_by
    said = source.stated(plan.relation)
    asked_for = (
        name
        for part in said.parts
        # Of an accountant that under which it is registered too.
        for name in ((part,) if isinstance(part, str) else (part_of(part), *target_of(part)))
    )
    parts = (*asked_for, named, part_of(source), *trusted)
    return solution, PrivacyStatement(
        **said.fields,
        relation=plan.relation.value,
        parts_not_from_dpcore=foreign_parts(parts),
        why_not_private=(*plan.why_not_private(), *said.why_not_private, *why_not_private),
        typed_by=typed_by,
    )


def fit_source(plan: Plan, schema: Schema, source: AnswerSource, n_rows: int) -> Model:
    """Return the model of a plan whose optimizer asks an open source of so many rows elsewhere.

    Raises InvalidInputError for a plan that asks no source or does not fit the schema, before
    anything is spent.
    """
    if not optimizer_facts(plan.optimizer).answered_by:
        raise InvalidInputError(f"{plan.entry.name} needs all rows in one place.")
    problem = check_public(plan, schema, n_rows).problem
    charges = Charges()
    trusted = (part_of(plan.loss), *plan.targets, *map(part_of, schema.columns))
    with charges.told():
        told = charges, trusted, schema.why_not_private
        solution, statement = fit_answered(plan, problem, source, *told)
        return make_model(plan, schema, problem.l2, solution, (), statement)
