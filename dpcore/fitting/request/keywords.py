"""The keyword arguments of ``dpcore.fit``, read as settings, public facts and rows of one fit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dpcore.data.schema.schema import Schema
from dpcore.fitting.planning.usual_loss import known_schema, loss_of_rows
from dpcore.fitting.request.fit_options import (
    Algorithm,
    Budget,
    Ledger,
    OneVsRest,
    Rows,
    Threads,
    Unit,
    Users,
    Weights,
)
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.facts import release_bounds
from dpcore.fitting.steps.weights import require_bound

__all__ = ["Asked", "asked_of"]

Kind = TypeVar("Kind")
_OF_ROWS = ("classes", "target_bounds", "bounds", "row_norm")
_NOTHING_PUBLIC = {
    **dict.fromkeys((*_OF_ROWS, "n0", "capacity")),
    "row_norm": 1.0,
    "private_bounds": False,
}


@dataclass(frozen=True, eq=False)
class Asked:
    """One fit as its caller asked for it.

    Parameters
    ----------
    schema : ``None`` where the rows have no named columns.
    public : what a schema has in its place: classes, bounds and the like.
    """

    X: Any
    y: Any
    settings: Settings
    schema: Schema | None
    public: Mapping[str, Any] = field(default_factory=lambda: dict(_NOTHING_PUBLIC))
    intercept: bool = True
    weights: Weights = Weights(None, None)
    ledger: Ledger = Ledger()


def asked_of(words: Mapping[str, Any]) -> Asked:
    """Return what the words of ``dpcore.fit`` ask for.

    Raises InvalidInputError for words that contradict each other.
    """
    words = {**words, "also": tuple(words["also"])}
    if isinstance(words["classes"], Iterator):  # It is read several times from here on.
        words["classes"] = tuple(words["classes"])
    weights = _as(Weights, words["sample_weight"], bound=None)
    require_bound(words["X"], weights.values, weights.bound)
    unit, rows = _as(Unit, words["unit"]), _as(Rows, words["n0"])
    private_bounds = release_bounds(words["also"])
    schema = Schema.given(words["schema"], private_bounds)
    schema = Schema.beside_units(schema, unit.column, unit.rows)
    return Asked(
        X=words["X"],
        y=words["y"],
        settings=_settings(words, schema, weights),
        schema=schema,
        public={
            **{name: words[name] for name in _OF_ROWS},
            "n0": rows.n0,
            "capacity": rows.capacity,
            "private_bounds": private_bounds,
        },
        intercept=words["intercept"],
        weights=weights,
        ledger=_as(Ledger, words["ledger"]),
    )


def _settings(words: Mapping[str, Any], schema: Schema | None, weights: Weights) -> Settings:
    algorithm, budget = _as(Algorithm, words["algo"]), _as(Budget, words["epsilon"])
    engine, users, asked = words["engine"], _as(Users, words["users"]), words["loss"]
    threads = engine if isinstance(engine, Threads) else Threads(engine=engine)
    multiclass, loss = (Settings.OVR, asked.loss) if isinstance(asked, OneVsRest) else (None, asked)
    schema = known_schema(words["X"], schema)
    return Settings(
        algo=Settings.default_algorithm() if algorithm.name is None else algorithm.name,
        loss=loss or loss_of_rows(schema, words["classes"], multiclass, words["target_bounds"]),
        l2=words["l2"],
        epsilon=budget.epsilon,
        delta=words["delta"],
        rho=budget.rho,
        mu=budget.mu,
        epsilon_max=budget.epsilon_max,
        targets=budget.targets or {},
        relation=words["relation"],
        accountant=words["accountant"],
        conversion=budget.conversion,
        engine=threads.engine,
        threads=threads.count,
        use=dict(algorithm.use or {}),
        params=dict(words["params"] or {}),
        preset=algorithm.preset,
        as_published=algorithm.as_published,
        users=users.users,
        trust=users.trust,
        units=schema is not None and schema.unit is not None,
        class_weight=words["class_weight"],
        weight_bound=weights.bound,
        also=words["also"],
        seed=words["seed"],
        multiclass=multiclass,
    )


def _as(kind: type[Kind], value: Any, **others: Any) -> Kind:
    """Return a value of ``fit`` with what may be said beside it."""
    if isinstance(value, kind):
        return value
    return kind(*(() if value is None and not others else (value,)), **others)
