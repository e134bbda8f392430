"""``open_session``: rows and public facts in, a session over them out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpcore import Schema
from dpcore.errors import InvalidInputError, warn_caller
from dpcore.plugin import NeighboringRelation, Problem, Settings
from dpcore.plugin.commands import LedgerRequest, SessionRun
from dpcore.plugin.parts import NoiseSource, PrivacyStatement, Registry, load_registry
from dpcore_tables.statistics.opened import Opened
from dpcore_tables.statistics.part_session import WholeSession
from dpcore_tables.statistics.session import OpenSession

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import Dataset

__all__ = ["open_session"]

_USUAL_FILTER = "zcdp"


def open_session(
    X: Any,
    y: Any = None,
    *,
    epsilon: float | None = None,
    delta: float = 1e-8,
    rho: float | None = None,
    mu: float | None = None,
    relation: str | None = None,
    accountant: str | None = None,
    conversion: str | None = None,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    bounds: Sequence[Any] | None = None,
    row_norm: float | None = 1.0,
    n0: int | None = None,
    capacity: int | None = None,
    engine: str = "local",
    threads: int | None = None,
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    analyst: str = "",
    same_table: bool = False,
) -> OpenSession:
    """Return a session over the rows, for statistics of one's own, and no model.

    Parameters
    ----------
    X, y, schema, classes, target_bounds, bounds, row_norm, n0, capacity, engine, threads, seed,
        ledger, analyst, same_table : as ``dpcore.fit`` has them; a budget that is given is charged
        to the ledger whole, when the session is opened. Without one each release is charged there
        before it is drawn. ``X`` may also be the name of a data set of ``dpcore list``.
        Statistics by name need columns with public bounds or levels: those of a schema, or
        x1, x2, ... of an array with ``bounds``.
    epsilon, delta : the budget of all that is released through the session, parts included;
        epsilon is 1 if not given.
    rho, mu : the budget as rho-zCDP or mu-GDP, in place of epsilon.
    relation : ``None`` for add-or-remove-one.
    accountant : the name of a fully adaptive filter; ``None`` for zcdp, and for gdp beside mu.

    Raises
    ------
    InvalidInputError, RegistryError, DataError, LedgerError, BudgetExceededError : before any
        budget is there to be spent.

    Warns
    -----
    DpcoreWarning : of a large epsilon or delta.

    Examples
    --------
    >>> import dpcore
    >>> with open_session("census-sim", epsilon=1.0, delta=1e-8) as session:
    ...     ages = session.histogram("age", edges=[17, 30, 45, 60, 91], share=0.5)
    ...     means = session.mean("age", "hours-per-week", share=0.5)
    >>> len(ages), len(means), session.statement()["private"]
    (4, 2, True)
    """
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    budget |= {"relation": relation, "accountant": accountant, "conversion": conversion}
    settings = Settings(**budget, engine=engine, threads=threads, seed=seed).checked()
    held = NeighboringRelation.parse(relation or NeighboringRelation.ADD_OR_REMOVE_ONE.value)
    name, empty = _filter(settings)
    request = LedgerRequest(ledger, analyst, same_table)
    public: dict[str, Any] = {"classes": classes, "target_bounds": target_bounds, "bounds": bounds}
    public |= {"row_norm": row_norm, "n0": n0, "capacity": capacity}
    dataset, readers = _rows(X, y, schema, public)
    held.require_all(dataset.rows_dropped)
    registry, seed = load_registry(), settings.seed
    names = [("accountant", name), ("engine", engine.partition(":")[0])]
    opened = Opened(
        schema=dataset.schema.anew(),
        problem=_problem(dataset, held),
        engine=SessionRun.load_engine(engine, registry),
        threads=settings.threads,
        native_budget=settings.native_budget(),
    )
    for warning in PrivacyStatement.guarantee_warnings(empty.epsilon, delta):
        warn_caller(warning)
    noise, table = NoiseSource.of_seed(seed), dataset.table()
    over = opened.engine_of(table)
    run = SessionRun(
        request,
        ("a session", empty, held),
        opened.schema,
        dataset.n_units if held.size_is_public else None,
        why_not_private=(*_seeded(seed), *dataset.schema.why_not_private),
        trusted=(
            *map(PrivacyStatement.part_of, (empty, Opened)),  # itself too: it reads rows
            *(registry.get(*name).target for name in names),
            *readers,
            *SessionRun.parts_of_rows(dataset),
        ),
        typed_by=dataset.typed_by,
        by_release=epsilon is None and opened.native_budget is None,
    )
    whole = run.opened(WholeSession, over, noise, problem=opened.problem)
    return OpenSession(opened, whole, table, run)


def _filter(settings: Settings) -> tuple[str, Accountant]:
    """Return the name and the empty filter; InvalidInputError where it guarantees nothing, or
    nothing for questions that are chosen on the way."""
    name, native = settings.accountant or _USUAL_FILTER, settings.native_budget()
    factory: Any = load_registry().load("accountant", name)
    if not (factory.fully_adaptive and Registry.facts_of("accountant", factory).private):
        raise InvalidInputError(
            f"The accountant {name} is no filter for questions that are chosen from earlier "
            "answers; take zcdp, gdp or pure."
        )
    if native is not None:
        return name, factory.of_native_budget(native[1], settings.delta, settings.conversion)
    epsilon = 1.0 if settings.epsilon is None else settings.epsilon
    return name, factory.from_budget(epsilon, settings.delta, settings.conversion)


def _seeded(seed: int | None) -> tuple[str, ...]:
    return () if seed is None else ("the noise came from a seed",)


def _rows(
    X: Any, y: Any, schema: Any, public: Mapping[str, Any]
) -> tuple[Dataset, tuple[str, ...]]:
    """Return the rows, and the readers of a registered data set."""
    registry = load_registry()
    if isinstance(X, str) and X in registry.names("dataset"):
        Schema.refuse_beside(f"the data set {X}", y=y, schema=schema, **public)
        load = registry.load("dataset", X)
        return load(), (PrivacyStatement.part_of(load), registry.get("dataset", X).target)
    return SessionRun.dataset_of(X, y, Schema.given(schema), True, **public), ()


def _problem(dataset: Dataset, relation: NeighboringRelation) -> Problem:
    schema, units = dataset.schema, dataset.schema.units
    n = dataset.n_units if relation.size_is_public and units is None else None
    capacity: dict[str, Any] = {"capacity": schema.capacity} if schema.capacity else {}
    return Problem(
        loss=load_registry().load("loss", Settings.usual_loss(schema))(),
        l2=0.0,
        n_features=schema.n_features,
        row_norm=dataset.row_norm,
        raw_norm_bound=dataset.raw_norm_bound,
        relation=relation,
        n=n,
        n0=schema.rows,
        intercept=schema.intercept,
        rows_per_unit=None if units is None else units.rows_per_unit,
        n_margins=schema.label.n_margins,
        numbers=schema.number_features,
        **capacity,
    )
