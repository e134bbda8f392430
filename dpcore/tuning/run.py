"""The run of a search: rows in, the best model and its statement out.

All that can be refused is refused before the charge. After it, whatever a try raises is its
outcome, below every score, and not the search's: an error, and what it says, would tell of one try.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.fitting.fitted import make_model
from dpcore.fitting.loading import load_data
from dpcore.fitting.run import finish
from dpcore.fitting.table_ledger import LedgerRequest, closed_after, note_outside, reserved
from dpcore.ledger.reservation import Found
from dpcore.noise.source import SeededNoise, SystemNoise
from dpcore.privacy.events import PureDpEvent
from dpcore.privacy.stated_events import ApproximateDpEvent
from dpcore.privacy.statement import PrivacyStatement, foreign_parts, part_of
from dpcore.privacy.units import protected
from dpcore.protocols.problem import Solution
from dpcore.session.charges import Bound, Charges
from dpcore.session.ledger import LedgerEntry
from dpcore.tuning.search import WholeBudget
from dpcore.tuning.tries import Tries, constant_of
from dpcore.tuning.words import description_of

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.fitting.loading import DataRequest
    from dpcore.fitting.training import Training
    from dpcore.model.model import Model
    from dpcore.tuning.search import Search
    from dpcore.tuning.tries import Tried

__all__ = ["tune", "tune_dataset"]

_NONE = "No try came to a model: this one is a public constant."


def tune(
    search: Search, request: DataRequest, charges: Charges, table_ledger: LedgerRequest
) -> Training:
    """Return the training of a search on the data that were asked for, without its seconds: they
    would tell how many tries there were."""
    from dpcore.fitting.diagnostics import diagnose

    settings = search.plans[0].settings
    data = load_data(request, search.relation, settings.threads, settings.seed)
    if data.test is not None:
        note_outside(table_ledger, data.train.schema, "exact figures of test rows")
    asked = search, data.train, data.why_not_private, data.parts
    model = tune_dataset(*asked, charges, table_ledger, data.kept_fraction)
    diagnostics: dict[str, Any] = {}
    if data.test is not None:
        diagnostics = diagnose(search.plans[0].loss, model, data.train, data.test)
    return finish(search.plans[0], model, data.train, None, diagnostics)


def tune_dataset(
    search: Search,
    dataset: Dataset,
    why_not_private: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    charges: Charges | None = None,
    table_ledger: LedgerRequest | None = None,
    kept_fraction: float = 1.0,
) -> Model:
    """Return the best model of a search on a data set, as ``fit_dataset`` returns that of a fit.

    Raises InvalidInputError for what does not fit the rows, LedgerError or BudgetExceededError
    where a ledger cannot hold the search, all before anything is charged.
    """
    plan, charges = search.plans[0], charges or Charges()
    reasons = (*plan.why_not_private(), *why_not_private)
    kind = search.relation.value, protected(dataset.schema.units)
    charges.bound = Bound(search.epsilon, search.delta, *kind, not reasons)
    seed = plan.settings.seed
    with charges.told():
        noise = SystemNoise() if seed is None else SeededNoise(seed)
        tries = Tries(search, dataset, kept_fraction, noise)
        n = dataset.n_units if search.relation.size_is_public else None
        whole: Any = WholeBudget(search.epsilon, search.delta)
        run = f"search of {plan.entry.name}", whole, search.relation
        with closed_after(reserved(table_ledger, run, dataset.schema, n, reasons)) as charged:
            charged.log.charge(_entry(search))
            charges.follow(lambda: (search.epsilon, search.epsilon, "epsilon"))
            best = tries.best()
            found = _found(search, dataset, tries, best, reasons, parts)
            charged.found = lambda: found
            statement = _stated(search, dataset, tries, best, found, charged.reference)
            return _model(search, dataset, best, statement, tries.l2)


def _found(
    search: Search,
    dataset: Dataset,
    tries: Tries,
    best: Tried | None,
    reasons: tuple[str, ...],
    parts: tuple[str, ...],
) -> Found:
    """Return what is known of the guarantee, which all fits have to hold: parts and numbers of rows
    of every candidate, and of the fit released; where there is none, as many rows as any fit may
    have been for. A reason of any fit that was made."""
    held: Mapping[str, Any] = {"most_rows": tries.capacity}
    held = held if best is None else best.model.privacy
    ours = {part for p in search.plans for part in (part_of(p.loss), *p.targets)}
    named = {*held.get("parts_not_from_dpcore", ()), *tries.foreign}
    foreign = {*foreign_parts({*ours, *parts}), *named}
    why = dict.fromkeys((*reasons, *sorted(tries.why_not_private)))
    limits = [most for most in (held.get("most_rows"), tries.most_rows) if most is not None]
    most_rows = min(limits, default=None)
    return Found(tuple(why), most_rows, dataset.typed_by, tuple(sorted(foreign)))


def _stated(
    search: Search,
    dataset: Dataset,
    tries: Tries,
    best: Tried | None,
    found: Found,
    reference: dict[str, Any] | None,
) -> PrivacyStatement:
    filter = tries.filter
    return PrivacyStatement(
        epsilon=search.epsilon,
        delta=search.delta,
        relation=search.relation.value,
        accountant=filter.name,
        conversion=filter.conversion,
        unit="epsilon",
        budget=search.epsilon,
        spent=search.epsilon,
        releases={"search": 1},
        parts_not_from_dpcore=found.parts,
        why_not_private=found.why_not_private,
        most_rows=found.most_rows,
        n0=tries.n0,
        capacity=tries.capacity if best is None else best.model.privacy["capacity"],
        typed_by=dataset.typed_by,
        units=dataset.schema.units,
        search=description_of(search, filter, None if best is None else best.place),
        ledger=reference,
    )


def _entry(search: Search) -> LedgerEntry:
    """Return the one entry of a search: its whole budget."""
    pair = search.epsilon, search.delta
    event = ApproximateDpEvent(*pair) if search.delta else PureDpEvent(search.epsilon)
    return LedgerEntry(0, "search", "Search", event, search.epsilon)


def _model(
    search: Search, dataset: Dataset, best: Tried | None, statement: PrivacyStatement, l2: float
) -> Model:
    """Return the model with the statement of the search in the place of its try's own."""
    summary = {"kind": "search", "mechanism": "Search", "count": 1, "cost": search.epsilon}
    if best is not None:
        return replace(best.model, privacy=statement.to_dict(), ledger=(summary,))
    none = Solution(constant_of(dataset.schema.w_shape), _NONE)
    return make_model(search.plans[0], dataset.schema, l2, none, (summary,), statement)
