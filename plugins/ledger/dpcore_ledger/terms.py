"""The terms of a budget in a ledger: one filter, fixed when it is opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import PrivacyStatement, ReservingAccountant, exact, load_registry

if TYPE_CHECKING:
    from dpcore.plugin.parts import AdditiveAccountant

__all__ = ["FILTERS", "Terms", "filter_kind"]

FILTERS = ("zcdp", "gdp", "pure", "rdp")
"""Filters that are valid for costs chosen from earlier outputs. Allowing whatever one of two of
them allows would be no filter, so that a ledger has one."""
_ASIDE = Fraction(1, 4)


@dataclass(frozen=True)
class Terms:
    """A budget, and the filter that holds all runs to it.

    Parameters
    ----------
    filter : empty; its own numbers are kept, so that another version of dpcore charges alike.
    relation : the neighbouring relation of the promise.
    unit : the column of ids where it is for all rows of one value of it; ``None``: for a row.
    """

    filter: AdditiveAccountant
    relation: str
    unit: str | None = None

    @classmethod
    def of(
        cls,
        epsilon: float,
        delta: float,
        *,
        accountant: str = "zcdp",
        conversion: str | None = None,
        relation: str = "add-or-remove-one",
        unit: str | None = None,
        aside: float | None = None,
    ) -> Terms:
        """Return the terms of a budget.

        ``aside`` : the part of delta that is kept for runs which the filter holds as one
        (epsilon, delta) release each; by default a quarter, and none under gdp, which holds none.

        Raises InvalidInputError for numbers, names or an ``aside`` that cannot be.
        """
        NeighboringRelation.parse(relation)
        kind = filter_kind(accountant)
        if unit == "":
            raise InvalidInputError("Expected unit='' to be the name of a column of ids.")
        opened = kind.from_budget(epsilon, delta, conversion)
        if aside is not None and not 0 <= aside <= opened.delta:
            raise InvalidInputError(
                f"Expected 0 <= aside={aside!r} <= delta={exact(opened.delta)}."
            )
        if not issubclass(kind, ReservingAccountant):
            if aside:
                raise InvalidInputError(f"The {accountant} filter holds no part of delta aside.")
            return cls(opened, relation, unit)
        share = _ASIDE * Fraction(opened.delta) if aside is None else aside
        return cls(kind.with_reserve(epsilon, delta, share, conversion), relation, unit)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data, without a rounding."""
        held = {name: _text(value) for name, value in vars(self.filter).items()}
        return {
            "accountant": self.filter.name,
            "filter": held,
            "relation": self.relation,
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Terms:
        """Return the terms of ``to_dict``."""
        held: dict[str, Any] = {name: _value(text) for name, text in entry["filter"].items()}
        opened = filter_kind(entry["accountant"])(**held)
        return cls(opened, entry["relation"], entry["unit"])

    def spent(self, ticks: int, aside_ticks: int) -> AdditiveAccountant:
        """Return the filter after so much was charged to it, and to the part of delta aside."""
        if isinstance(self.filter, ReservingAccountant):
            return replace(self.filter, spent_ticks=ticks, reserved_ticks=aside_ticks)
        return replace(self.filter, spent_ticks=ticks)


def filter_kind(name: str) -> type[AdditiveAccountant]:
    """Return the class of a filter, which this repository has in every case.

    Raises InvalidInputError for a name of no filter, RegistryError where its package is not
    installed, or somebody else has the name.
    """
    if name not in FILTERS:
        raise InvalidInputError(
            f"Expected accountant={name!r} to be one of {', '.join(FILTERS)}: a ledger needs a "
            "filter for runs that are chosen from earlier results."
        )
    registry = load_registry("accountant")
    kind: type[AdditiveAccountant] = registry.load("accountant", name)
    if not PrivacyStatement.is_ours(registry.get("accountant", name).target.partition(":")[0]):
        raise RegistryError(
            f"The accountant {name!r} of this installation is not dpcore's: a file differs from "
            "what was built, or another package has the name. Install dpcore and its packages anew."
        )
    return kind


def _text(value: Any) -> Any:
    return {"fraction": str(value)} if isinstance(value, Fraction) else value


def _value(text: Any) -> Any:
    return Fraction(text["fraction"]) if isinstance(text, dict) else text
