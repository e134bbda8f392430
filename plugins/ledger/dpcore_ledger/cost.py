"""The cost of a whole run in the filter of a ledger.

A run is an interactive mechanism of its own: its filter holds it to its budget whatever is asked of
it. Filters of one unit compose concurrently, runs that begin and end in any order and whose
questions depend on each other's answers (Haney, Shoemate, Tian, Vadhan, Vyrros, Xu & Zhang 2023,
"Concurrent Composition for Interactive Differential Privacy with Adaptive Privacy-Loss Parameters";
Vadhan & Zhang 2023 for Renyi and Gaussian privacy). So the sum over runs of their whole budgets is
what the ledger's filter has to hold, and a run of the ledger's own unit may be counted by what its
own releases were charged, once it makes no more.

A run under another relation is one of ``times`` steps from a table to its neighbour:

=====================  =====================  =====
the run's              the ledger's           times
=====================  =====================  =====
add-or-remove-one      replace-one            2: out with the old row, in with the new
units, add-or-remove   a row, add-or-remove   2: out with its unit as it was, in as it is now
=====================  =====================  =====

Of ``k`` steps an epsilon costs k epsilon, mu of Gaussian privacy k mu (Dong, Roth & Su 2022,
Theorem 2.14), rho-zCDP k^2 rho (Bun & Steinke 2016, Proposition 1.9), (epsilon, delta) k epsilon
and delta (1 + e^epsilon + ... + e^((k-1) epsilon)) (Vadhan 2017, Lemma 2.2). Anything else is
refused: a run under replace-one says nothing of tables of other sizes, a run over rows nothing of
units. So are units under replace-one in a ledger of rows: a row that is replaced may leave a unit
empty and begin another one, and neighbours under it have equally many units. A run over a part of
the rows is under add-or-remove-one, of rows (``dpcore_ledger.row_parts``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ApproximateDpEvent,
    DpEvent,
    GdpAccountant,
    PureAccountant,
    PureDpEvent,
    ZcdpDpEvent,
    exp_up,
    float_up,
)
from dpcore_ledger.terms import filter_kind

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore_ledger.row_parts import Part
    from dpcore_ledger.terms import Terms

__all__ = ["Cost", "Run", "cost_of", "grown", "times_of"]

_ONE = AdditiveAccountant.ticks_up(Fraction(1))
_POWER = {"zcdp": 2, "gdp": 2, "pure": 1}
"""The power of k by which k steps multiply a filter's unit: gdp adds up mu^2."""


@dataclass(frozen=True)
class Run:
    """A run before it begins.

    Parameters
    ----------
    accountant : its filter, empty.
    relation, unit : its own, as ``Terms`` has them.
    part : whose rows it is over; ``None`` for all.
    """

    accountant: Accountant
    relation: str
    unit: str | None
    part: Part | None = None


@dataclass(frozen=True)
class Cost:
    """A charge in units of 2**-120, of the filter's unit and of the part of delta aside.

    ``times`` : what the run's own ticks are multiplied by where they are of the filter's unit;
    ``None`` where they are not, so that the run is charged whole.
    """

    ticks: int
    aside_ticks: int
    times: int | None = None


def times_of(run: Run, terms: Terms) -> int:
    """Return of how many of the run's steps a neighbour of the ledger is.

    Raises InvalidInputError where it is of none.
    """
    grown = run.relation == "add-or-remove-one"
    if run.part is not None and not (grown and run.unit is None):
        raise InvalidInputError(
            "A run over a part of the rows is under add-or-remove-one of a row: how many rows the "
            "part has is private, and a unit of several may be in more than one part."
        )
    if run.unit == terms.unit and run.relation == terms.relation:
        return 1
    if grown and run.unit == terms.unit and terms.relation == "replace-one":
        return 2
    if grown and terms.unit is None and terms.relation == "add-or-remove-one":
        return 2
    raise InvalidInputError(
        f"The run is under {run.relation} of {_thing(run.unit)}, and the ledger under "
        f"{terms.relation} of {_thing(terms.unit)}: its guarantee says nothing of such a change, "
        f"so that the ledger cannot hold it. Run under --relation {terms.relation} "
        f"(relation={terms.relation!r})"
        + ("." if terms.unit is None else f" and --unit {terms.unit} (unit=), or unit in a schema.")
    )


def grown(terms: Terms, times: int) -> int | None:
    """Return by what so many steps multiply a cost of the ledger's unit; ``None`` where no such
    rule holds."""
    power = 0 if times == 1 else _POWER.get(terms.filter.name)
    return None if power is None else times**power


def _thing(unit: str | None) -> str:
    return "a row" if unit is None else f"all rows of a value of {unit!r}"


def cost_of(run: Run, terms: Terms) -> Cost:
    """Return the cost of a run's whole budget.

    Raises InvalidInputError for a run that the ledger's filter cannot hold.
    """
    times, filter = times_of(run, terms), terms.filter
    own = run.accountant
    factor = grown(terms, times)
    grows = times == 1 or not _reserve_ticks(own)
    if factor is not None and grows and _is_of_unit(own, filter):
        ticks: int = own.budget_ticks  # type: ignore[attr-defined]  # of a class of ours
        return Cost(ticks * factor, _reserve_ticks(own), factor)
    event = _as_event(own, times)
    if not filter.supports(event):
        raise InvalidInputError(
            f"The ledger's {filter.name} filter cannot hold a run of the {own.name} accountant. "
            f"Run under --accountant {filter.name} (accountant={filter.name!r}), or open a ledger "
            "of --accountant zcdp, which holds every kind."
        )
    aside = (
        AdditiveAccountant.ticks_up(Fraction(event.delta))
        if type(event) is ApproximateDpEvent
        else 0
    )
    return Cost(
        AdditiveAccountant.ticks_up(filter.cost(event)) if aside == 0 else _beside(filter, event),
        aside,
    )


def _is_of_unit(own: Accountant, filter: AdditiveAccountant) -> bool:
    """Return whether a run's own ticks are of the filter's unit: at one order, of Renyi's."""
    orders = (getattr(each, "order", None) for each in (own, filter))
    return type(own) is type(filter) and len({*orders}) == 1


def _reserve_ticks(own: Accountant) -> int:
    return int(getattr(own, "reserve_ticks", 0))


def _as_event(own: Accountant, times: int) -> DpEvent:
    """Return a run as one release: of the sharpest notion that its filter enforces."""
    if not _reserve_ticks(own):
        if type(own) is GdpAccountant:
            # mu-GDP is mu^2 / 2-zCDP: no Renyi divergence above that of N(0, 1) and N(mu, 1).
            return ZcdpDpEvent(float_up(Fraction(own.budget_ticks, 2 * _ONE) * times**2))
        if type(own) is PureAccountant:
            return PureDpEvent(float_up(Fraction(own.budget_ticks, _ONE) * times))
        if isinstance(own, AdditiveAccountant) and type(own) is filter_kind("zcdp"):
            return ZcdpDpEvent(float_up(Fraction(own.budget_ticks, _ONE) * times**2))
    epsilon, delta = Fraction(own.epsilon), Fraction(own.delta)
    if not delta:
        return PureDpEvent(float_up(epsilon * times))
    grown = sum(exp_up(k * epsilon) for k in range(times))
    return ApproximateDpEvent(float_up(epsilon * times), float_up(delta * grown))


def _beside(filter: AdditiveAccountant, event: DpEvent) -> int:
    if not getattr(filter, "reserve_ticks", 0):
        raise InvalidInputError(
            "The run is one (epsilon, delta) release, and the ledger has no part of delta aside "
            "for those: it was opened with --aside 0."
        )
    return AdditiveAccountant.ticks_up(filter.cost(event))
