"""A run that a check is to be like: its schema, its rows, its budget and its algorithm, all public.

``LikeRun.of`` plans it, makes its rows, and runs it once under a seed: what it asked, by which
noise, at which sensitivities, is what the checks ask for.
"""

from __future__ import annotations

import os
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from dpcore import Schema
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import Dataset, LossFacts, SeededNoise, load_registry, optimizer_facts
from dpcore_lab.replay.recording import RecordingSession
from dpcore_lab.run_sizes.schema_rows import rows_of_schema
from dpcore_tables.files.requested import schema_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dpcore.plugin import Loss, Problem, Solution
    from dpcore.plugin.commands import Plan
    from dpcore.plugin.parts import Optimizer
    from dpcore_lab.made_tables.tables import Rows

__all__ = ["USUAL_ROWS", "LikeRequest", "LikeRun", "checked_as_run"]

USUAL_ROWS = 20_000
"""Rows where neither the caller nor the schema says how many."""
_SEED = 21


@dataclass(frozen=True)
class LikeRequest:
    """The run that a check is to be like, as ``dpcore check`` is asked for it.

    Parameters
    ----------
    schema : a schema's file, or a data set's name.
    rows : of the tables; ``None`` for the schema's public value, and 20,000 where it has none.
    epsilon : of the run's budget, at delta 1e-8.
    algo : whose noise and questions the run has; ``None`` for the default algorithm.
    accountant : of the run; ``None`` for the algorithm's own.
    use : what fills its slots, by their names.
    loss : of the run, by its name; ``None`` for what the algorithm is checked with.
    params : what is set of the algorithm, and of the loss as ``loss.NAME``, as text or values.
    """

    schema: str
    rows: int | None = None
    epsilon: float = 1.0
    algo: str | None = None
    accountant: str | None = None
    use: Mapping[str, str] = field(default_factory=dict)
    loss: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LikeRun:
    """A run's public facts, rows that it could have, and the optimizer that runs on them.

    ``n_rows`` : of its table. ``rows`` : the table itself.
    """

    plan: Plan
    problem: Problem
    rows: Rows
    schema: Schema
    request: LikeRequest

    @classmethod
    def of(
        cls,
        request: LikeRequest,
        optimizer: Optimizer | None = None,
        relation: str | None = None,
        loss: Loss | None = None,
    ) -> LikeRun:
        """Return the run of a request. ``optimizer`` : in place of the request's algorithm, as it
        is but for what the request sets of it. ``relation`` : in place of its own first.
        ``loss`` : in place of the schema's usual one.

        Raises InvalidInputError for a schema that cannot be had, where schema, algorithm, loss and
        budget do not fit each other, for an algorithm that asks users, and for slots or parameters
        of an ``optimizer`` without a registered name.
        """
        schema = _schema(request.schema)
        n = request.rows or schema.rows or USUAL_ROWS
        if n < 2:
            raise InvalidInputError(f"Expected rows={n} >= 2.")
        rows = rows_of_schema(schema, n)
        plan = _plan(request, schema, optimizer, relation, loss)
        if optimizer_facts(plan.optimizer).answered_by:
            raise InvalidInputError(
                f"{plan.entry.name} asks users, each with rows of their own: --like makes one "
                "table."
            )
        data = Dataset("made", rows.X, rows.y, schema, is_generated=True, units=rows.units)
        ready = Run(plan, data).ready()
        return cls(ready.of_each, ready.problem, rows, schema, request)

    def of_other_relations(self) -> Iterator[LikeRun]:
        """Yield the run under every other relation that its optimizer states, and takes with this
        schema and budget. No session has units of several rows under replace-special."""
        optimizer, special = self.plan.optimizer, NeighboringRelation.REPLACE_SPECIAL.value
        left_out = {self.relation.value, *((special,) if self.rows_per_unit else ())}
        for relation in optimizer.relations:
            if relation not in left_out:
                try:
                    yield LikeRun.of(self.request, optimizer, relation)
                except DpcoreError:
                    continue

    @property
    def n_rows(self) -> int:
        return len(self.rows.y)

    @property
    def relation(self) -> NeighboringRelation:
        return self.plan.relation

    @property
    def rows_per_unit(self) -> int | None:
        return self.problem.rows_per_unit

    @property
    def words(self) -> str:
        """The sizes of the run, as a clause."""
        label = self.schema.label
        classes = f"{label.n_classes} classes" if label.n_classes else "a real target"
        units = f", units of up to {self.rows_per_unit} rows" if self.rows_per_unit else ""
        epsilon = float(self.plan.accountant.epsilon)
        blocks = len(self.rows.table().blocks)
        return (
            f"{self.n_rows:,} rows ({blocks} block{'s' if blocks > 1 else ''}) of "
            f"{self.problem.n_features:,} features, {classes}{units}, {self.relation.value}, "
            f"{self.plan.entry.name} at epsilon {epsilon:g}"
        )

    def over(self, rows: Rows) -> tuple[RecordingSession, Problem]:
        """Return a recording session over other rows, and the problem that is theirs."""
        problem = self.problem
        if problem.n is not None:
            problem = replace(problem, n=len(rows.y))
        accountant, noise = self.plan.accountant, SeededNoise(_SEED)
        return RecordingSession(rows.table(), accountant, self.relation, noise, problem), problem

    def recorded(self) -> tuple[RecordingSession, Solution]:
        """Return the session and the solution of a seeded run over its rows."""
        optimizer: Any = self.plan.optimizer
        session, problem = self.over(self.rows)
        return session, optimizer.minimize(problem, session)


def _schema(name: str) -> Schema:
    if name in load_registry().names("dataset"):
        schema = schema_of_rows(DataRequest(name))
        if schema is None:
            raise InvalidInputError(f"{name} states no schema: --like needs a schema's file.")
        return schema
    return Schema.read(os.fspath(name))


def _plan(
    request: LikeRequest,
    schema: Schema,
    optimizer: Optimizer | None,
    other: str | None,
    tested: Loss | None,
) -> Plan:
    registry = load_registry()
    algo = request.algo or Settings.default_algorithm()
    registered = {entry.name: entry for entry in registry.entries("optimizer")}
    if optimizer is not None:
        algo = next((n for n in registered if _is_of(registry, n, optimizer)), algo)
    known = replace(_settings(algo, request, schema), relation=other)
    if tested is not None:
        plan = make_plan(replace(known, loss=_registered_like(tested, known.loss)))
        is_set = bool(Settings.params_apart(request.params)[1])
        return plan if is_set and type(plan.loss) is type(tested) else replace(plan, loss=tested)
    if optimizer is None:
        return make_plan(known)
    if _is_of(registry, algo, optimizer):
        return _with_fields_of(optimizer, make_plan(known), request)
    if request.use or request.params:
        raise InvalidInputError(
            f"{type(optimizer).__name__} is of no registered name, and --use and --set are of an "
            "algorithm that is: register it (docs/plugins.md), or hand run_checks_like an object "
            "that has them."
        )
    own: dict[str, Any] = {"params": {}, "targets": {}, "relation": None, "accountant": None}
    plan = make_plan(replace(known, algo=Settings.default_algorithm(), **own))
    relation = NeighboringRelation(other or optimizer.relations[0])
    loss = registry.load("loss", request.loss or _loss(optimizer, schema))()
    name = request.accountant or optimizer_facts(optimizer).accountant
    filters = registry.load("accountant", name)
    accountant = filters.from_budget(request.epsilon, Settings.delta)
    return replace(plan, optimizer=optimizer, relation=relation, loss=loss, accountant=accountant)


def _with_fields_of(optimizer: Any, plan: Plan, request: LikeRequest) -> Plan:
    """Return a plan whose optimizer is this one, with what the request sets of it. A choice among
    algorithms is of another class, and its plan is as it is."""
    planned: Any = plan.optimizer
    if type(planned) is not type(optimizer):
        return plan
    names = {name.replace("-", "_") for name in Settings.params_apart(request.params)[0]}
    names |= {"use"} if request.use else set()
    asked = {name: getattr(planned, name) for name in names}
    return replace(plan, optimizer=replace(optimizer, **asked))


def _is_of(registry: Any, name: str, optimizer: Optimizer) -> bool:
    entry = registry.get("optimizer", name)
    module, _, kind = entry.target.partition(":")
    return (type(optimizer).__module__, type(optimizer).__qualname__) == (module, kind)


def _settings(algo: str, request: LikeRequest, schema: Schema) -> Settings:
    """Return the settings of a run of a registered algorithm, with what it is checked with."""
    factory = load_registry().load("optimizer", algo)
    stated = optimizer_facts(factory)
    given = checked_as_run(factory)
    targets = {name: given.pop(name) for name in stated.targets if name in given}
    budget: dict[str, Any] = {"epsilon": request.epsilon}
    if stated.targets:
        budget = {"epsilon_max": request.epsilon}
        if "delta" in stated.targets:
            budget["delta"] = 0.0 if targets.get("delta") == 0 else Settings.delta
    return Settings(
        algo=algo,
        loss=request.loss or _loss(factory, schema),
        targets=targets,
        params={**given, **request.params},
        accountant=request.accountant,
        use=request.use,
        units=schema.unit is not None,
        **budget,
    )


def checked_as_run(factory: Any) -> dict[str, Any]:
    """Return what an optimizer is checked with in the place of what a run has to be given: targets
    and fields without a default. In all else a run that sets nothing has the defaults."""
    stated = optimizer_facts(factory)
    needed = {
        each.name
        for each in fields(factory)
        if each.default is MISSING and each.default_factory is MISSING
    }
    needed |= {*stated.targets}
    return {name: value for name, value in stated.checked_with.items() if name in needed}


def _loss(optimizer: Any, schema: Schema) -> str:
    stated, usual = optimizer_facts(optimizer), Settings.usual_loss(schema)
    if stated.checked_loss and usual != "softmax":
        return stated.checked_loss
    return "ridge" if "squared-loss" in stated.needs else usual


def _registered_like(loss: Loss, usual: str) -> str:
    """Return the name of a registered loss of the same kind, as which an algorithm is chosen and
    built: ``usual`` if that is one, or if there is none."""
    registry = load_registry()
    names = (usual, *sorted(registry.names("loss")))
    return next((n for n in names if _kind(registry.load("loss", n)()) == _kind(loss)), usual)


def _kind(loss: Loss) -> tuple[bool, ...]:
    facts = LossFacts.of(loss)
    return facts.classification, facts.multiclass, facts.quadratic, facts.log_link
