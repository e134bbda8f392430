"""Whole fits on the made tables: the code as it is, from the plan to the model.

One plan, and the encoded rows of each table, serve all runs in a process; everything else of a fit
is done anew. The noise is the system's; with a seed, a run's is of the seed and the run's number,
from the same samplers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError, TargetNotMetError
from dpcore.plugin import Settings
from dpcore.plugin.commands import make_plan
from dpcore_lab.audit.claim import Claim
from dpcore_lab.audit.pairs import N_ROWS, ROW_NORM, Side, pairs_of

if TYPE_CHECKING:
    from dpcore.plugin.commands import Plan
    from dpcore.plugin.parts import Dataset, Table

__all__ = ["Fits", "Request"]

_RUNS_OF_A_SEED = 1 << 40
_RUNS_OF_A_TABLE = 1 << 32
_CAPACITY = 1 << 20
_UNIT = "unit"
_OF_THE_MACHINE = (MemoryError, OSError)
"""Errors that end an audit: they say nothing of a table."""


@dataclass(frozen=True)
class Request:
    """A fit to be audited: names and numbers, as for ``dpcore train``.

    Parameters
    ----------
    epsilon, delta : the claim; ``epsilon`` is the worst case where epsilon is an output, and
        ``delta`` 0 there.
    rows : how many the tables have, public and 64 where nobody says.
    rows_per_unit : rows of a unit, 1 where units are rows.
    use : slot name to the registered name that fills it, as in ``dpcore train``.
    as_published : audits the authors' code against the epsilon that it prints.
    seed : makes all runs repeatable; ``None`` for the system's noise.
    """

    algo: str
    loss: str | None = None
    relation: str | None = None
    epsilon: float = 1.0
    delta: float = 1e-5
    params: Mapping[str, Any] = field(default_factory=dict)
    rows: int = N_ROWS
    rows_per_unit: int = 1
    as_published: bool = False
    seed: int | None = None
    use: Mapping[str, str] = field(default_factory=dict)


class Fits:
    """The runs of a request: a plan, its claim, and the pairs of tables. It is made anew, from the
    request, in every process."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.plan = _plan(request)
        labels, k = _labels(self.plan), request.rows_per_unit
        self.pairs = pairs_of(self.plan.relation, labels, k, request.rows)

    @property
    def claim(self) -> Claim:
        """The whole budget: (epsilon, delta), and its mu where that is what the filter holds."""
        accountant = self.plan.accountant
        mu = None
        if accountant.name == Settings.NATIVE_BUDGETS["mu"]:
            mu = math.sqrt(accountant.budget) * (1 + 1e-12)
        return Claim(float(accountant.epsilon), float(accountant.delta), mu)

    def run(self, pair: int, world: int, number: int) -> np.ndarray:
        """Return the numbers that a run gives out: parameters, the number of releases, whether
        there was a model, and whether an error was raised. Whoever waits for a model sees the last
        two, so they must not tell two tables apart."""
        nothing = np.zeros(math.prod(self.rows(pair, world)[0].schema.w_shape) + 3)
        try:
            model = self._fit(pair, world, number)
        except TargetNotMetError:
            return nothing
        except _OF_THE_MACHINE:
            raise
        except Exception:
            nothing[-1] = 1.0
            return nothing
        self._require_claim(model)
        releases = sum(model.privacy["releases"].values())
        return np.append(model.w.ravel(), [releases, 1.0, 0.0])

    def try_out(self) -> None:
        """Raise the error of a run over a table where one over its neighbour raises too: then it is
        no outcome, and there is nothing to audit."""
        if all(self.run(0, world, 0)[-1] for world in (0, 1)):
            self._fit(0, 0, 0)

    def _fit(self, pair: int, world: int, number: int) -> Any:
        from dpcore.plugin.commands import Run

        dataset, table = self.rows(pair, world)
        plan = self._of_run((world + 2 * pair) * _RUNS_OF_A_TABLE + number)
        return Run(plan, dataset, table=table, table_ledger=None).model()  # of made rows

    def _require_claim(self, model: Any) -> None:
        """Raise InvalidInputError of a run that claims nothing: whether a pool of users adds any
        noise, its statement says."""
        known = self.request.seed is not None
        if not self.request.as_published and len(model.privacy["why_not_private"]) > known:
            raise _claims_nothing(self.request.algo)

    def draw(self, pair: int, world: int, first: int, runs: int) -> np.ndarray:
        """Return what runs of these numbers give out: float64 of shape (runs, k)."""
        return np.array([self.run(pair, world, first + k) for k in range(runs)])

    def last_parameters(self, X: np.ndarray) -> np.ndarray:
        """Return what one run over these rows, all of the last class, gives as that class's
        parameters; under add-or-remove-one."""
        from dpcore.plugin.commands import Run

        side = Side(X, np.full(len(X), _labels(self.plan)[1]))
        dataset = _dataset(self.plan, side, self.request)
        model = Run(self._of_run(0), dataset, table_ledger=None).model()
        last: np.ndarray = np.atleast_2d(model.w)[-1]
        return last

    def _of_run(self, number: int) -> Plan:
        """Return the plan of the run with a number, below 2^40."""
        if self.request.seed is None:
            return self.plan
        seed = self.request.seed * _RUNS_OF_A_SEED + number
        return replace(self.plan, settings=replace(self.plan.settings, seed=seed))

    @functools.lru_cache(maxsize=64)  # noqa: B019 (lives as long as its process)
    def rows(self, pair: int, world: int) -> tuple[Dataset, Table]:
        """Return a table as a data set and as blocks."""
        dataset = _dataset(self.plan, self.pairs[pair].side(world), self.request)
        return dataset, dataset.table()


def _plan(request: Request) -> Plan:
    from dpcore.plugin.parts import Registry, load_registry, optimizer_facts

    registry = load_registry()
    factory = registry.load("optimizer", request.algo)
    stated = optimizer_facts(factory)
    given = {} if request.as_published else dict(stated.checked_with)
    targets = {name: given.pop(name) for name in stated.targets if name in given}
    if stated.targets:
        budget: dict[str, Any] = {"epsilon_max": request.epsilon}
        if "delta" in stated.targets:
            budget["delta"] = request.delta
    else:
        budget = {"epsilon": request.epsilon, "delta": request.delta}
    usual = stated.checked_loss or ("ridge" if "squared-loss" in stated.needs else Settings.loss)
    plan = make_plan(
        Settings(
            algo=request.algo,
            loss=request.loss or usual,
            relation=request.relation,
            targets=targets,
            params={**given, **request.params},
            use=request.use,
            as_published=request.as_published,
            units=request.rows_per_unit > 1,
            threads=1,
            **budget,
        )
    )
    of_filter = Registry.facts_of("accountant", type(plan.accountant))
    promised = optimizer_facts(type(plan.optimizer)), of_filter
    if not all(facts.private for facts in promised):
        raise _claims_nothing(request.algo)
    return plan


def _claims_nothing(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name} is not private: it claims no epsilon to audit.")


def _labels(plan: Plan) -> tuple[float, float]:
    from dpcore.plugin.parts import LossFacts

    return (0.0, 2.0) if LossFacts.of(plan.loss).multiclass else (-1.0, 1.0)


def _dataset(plan: Plan, side: Side, request: Request) -> Dataset:
    """Return a table as a generated data set, whose schema says nothing that follows from it. Units
    need named columns, whose features are from 0 to 1."""
    from dpcore import Schema
    from dpcore.plugin.parts import Dataset, LossFacts

    label: dict[str, Any] = {"kind": "label", "lower": -1.0, "upper": 1.0}
    if LossFacts.of(plan.loss).multiclass:
        label = {"kind": "label", "classes": [0, 1, 2]}
    elif plan.loss.classification:
        label = {"kind": "label", "classes": [-1, 1]}
    public: dict[str, Any] = {"row_norm": ROW_NORM, "intercept": False}
    public |= {"rows": request.rows, "capacity": _CAPACITY}
    X, width = side.X, side.X.shape[1]
    if side.units is None:
        schema = Schema.from_dict({**public, "width": width, "columns": {"label": label}})
    else:
        number = {"kind": "numeric", "lower": 0.0, "upper": 1.0}
        columns = {f"x{j + 1}": number for j in range(width)} | {"label": label}
        schema = Schema.from_dict({**public, "columns": columns})
        schema = schema.with_units(_UNIT, request.rows_per_unit)
        X = np.minimum(np.abs(X), 1.0)
    X, y = np.ascontiguousarray(X), side.y.astype(np.float64)
    return Dataset("audit", X, y, schema, is_generated=True, units=side.units)
