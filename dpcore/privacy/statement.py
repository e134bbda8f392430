"""The privacy statement of a run: what is guaranteed, under which relation, and by which parts."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from dpcore.exact.plain import REGISTERED_BY_OTHERS
from dpcore.exact.rounding import exact, exp_in_words
from dpcore.moved import renamed_method
from dpcore.privacy import first_party
from dpcore.privacy.guarantee_warnings import guarantee_warnings
from dpcore.privacy.unit_of_privacy import GIVEN_OF_QUERIES, Units, protected

__all__ = ["OF_DPCORE", "WHERE_GIVEN", "PrivacyStatement", "foreign_parts"]

_IN_FILES = {"relation": "neighboring_relation"}
"""Fields that reports and model files spell in another way."""
OF_DPCORE = ("private_bounds", "balanced", "evaluation", "intervals")
"""Fields about the steps of a run that are dpcore's own."""
WHERE_GIVEN = ("units", "users", *OF_DPCORE, "part", "steps", "code")
"""Fields that reports and model files have where a run has them."""
_CHANGES = {
    "add-or-remove-one": "adding or removing any one row",
    "replace-one": "replacing any one row",
    "replace-special": "swapping any one row for one that contributes nothing",
}


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """The privacy of a fitted model, as data.

    Parameters
    ----------
    epsilon, delta : the budget that the filter enforced. That is the guarantee, if it is private.
    relation : which tables count as neighbours; the unit of protection is one row, or ``units``.
    accountant, conversion : the filter, and the rule that turned (epsilon, delta) into its unit.
    unit : what ``budget`` and ``spent`` count, such as rho.
    budget, spent : values of the filter. ``spent`` is book-keeping: a filter is not an odometer
        (Rogers, Roth, Ullman & Vadhan 2016), so that it is no smaller guarantee.
    releases : number of releases of each kind.
    parts_not_from_dpcore : ``"module:Class"`` of every loss, query, mechanism, accountant, engine
        and reader that runs inside the trust boundary and is not from a distribution of this
        repository, as this core knows its files (``dpcore.privacy.first_party``).
    why_not_private : reasons, as clauses; empty if the guarantee holds.
    most_rows : the guarantee is for tables of at most so many rows; ``None``: of any number.
    n0 : a number of rows that was taken as public where the exact one is private.
    capacity : another, which the guarantee is for (it is ``most_rows`` then) or which the grid of
        the sums was chosen for: those of more rows may wrap around.
    ex_post_epsilon : the privacy loss of the outcome that happened, where the algorithm puts one
        out (Ligett et al. 2017, Definition 2.3): never a guarantee made beforehand.
    typed_by : ``"frame"`` or ``"file"`` where its columns' types, which another program chose from
        all of their cells, were taken as public; of a query as ``GIVEN_OF_QUERIES`` has it.
    native_budget : name and value of the budget where it was in the unit of the filter, ``("rho",
        0.1)`` or ``("mu", 0.5)``: epsilon is then what it comes to at delta.
    units : of several rows, where those are protected. n0, capacity and most_rows count rows.
    users : where rows stay with users: ``count``, least and largest ``epsilon`` and ``delta`` of
        their budgets, ``trust_model`` and ``server_sees``; epsilon and delta are the largest then.
    private_bounds, balanced, evaluation, intervals : what is stated of these steps, where they were
        run: the ``share`` of the budget that was set aside for each; of bounds the ``columns``, and
        those ``unseen``, whose bounds are a default; of an evaluation, if that was wanted, the
        ``epsilon`` that it has by itself at delta.
    steps : the same of steps of somebody's own, by name.
    part : the level of a column, ``"ward=surgery"``, whose rows alone the run was over.
    fits : 1, or how many, of each class against the rest, had equal parts of the budget.
    search : where it is the best of several fits: the public ``candidates``, the distribution of
        ``tries``, the budget of ``each``, ``theorem``, and ``words`` for the sentence.
    ledger : where the run was charged to a ledger of its table: that one's ``id``, the number of
        the ``run`` in it, number and ``digest`` of its ``entry``, foreign ``store``, ``keeper``.

    ``part_of(thing)`` names a part, ``is_ours(module)`` says if a module is one of dpcore's.
    """

    epsilon: float
    delta: float
    relation: str
    accountant: str
    conversion: str
    unit: str
    budget: float
    spent: float
    releases: dict[str, int]
    parts_not_from_dpcore: tuple[str, ...] = ()
    why_not_private: tuple[str, ...] = ()
    most_rows: int | None = None
    n0: int | None = None
    capacity: int | None = None
    ex_post_epsilon: float | None = None
    typed_by: str | None = None
    native_budget: tuple[str, float] | None = None
    units: Units | None = None
    users: dict[str, Any] | None = None
    private_bounds: dict[str, Any] | None = None
    balanced: dict[str, Any] | None = None
    evaluation: dict[str, Any] | None = None
    part: str | None = None
    intervals: dict[str, Any] | None = None
    steps: dict[str, dict[str, Any]] | None = None
    fits: int = 1
    search: dict[str, Any] | None = None
    ledger: dict[str, Any] | None = None

    NOTIONS: ClassVar[dict[str, str]] = {"rho": "zCDP", "mu": "GDP"}
    """The notions that have these values: Bun & Steinke 2016; Dong, Roth & Su 2022."""
    OF_DPCORE: ClassVar[tuple[str, ...]] = OF_DPCORE
    part_of, is_ours = staticmethod(first_party.part_of), staticmethod(first_party.is_ours)
    guarantee_warnings, DISTRIBUTIONS = staticmethod(guarantee_warnings), first_party.DISTRIBUTIONS
    cautions_of: ClassVar[Any] = classmethod(renamed_method("cautions_of", "guarantee_warnings"))

    @staticmethod
    def foreign_parts(parts: Iterable[str]) -> tuple[str, ...]:
        """Return the ``"module:Class"`` names that are not of this repository, sorted, with the
        packages of other files under a name of ours, and what others registered to compile."""
        foreign = {part for part in parts if not first_party.is_ours(part.partition(":")[0])}
        return tuple(sorted(foreign | first_party.unknown_packages() | REGISTERED_BY_OTHERS))

    @property
    def private(self) -> bool:
        return not self.why_not_private

    @property
    def foreign(self) -> tuple[str, ...]:
        """The parts that are not from dpcore, those that keep the run's ledger among them."""
        kept = {(self.ledger or {}).get(key, "") for key in ("keeper", "store")}
        return tuple(sorted({*self.parts_not_from_dpcore, *kept} - {""}))

    @property
    def code(self) -> str | None:
        """A warning about the code (``dpcore.privacy.first_party``); ``None`` where it is known."""
        return first_party.code_in_words(self.foreign)

    def sentence(self, subject: str = "This model") -> str:
        """Return the statement as one sentence, with what it means in plain words; without a budget
        where none is guaranteed."""
        if not self.private:
            reasons = "; ".join(self.why_not_private)
            return f"NOT PRIVATE: {reasons}; no epsilon and no delta are guaranteed."
        tables = f"{self.relation} of {protected(self.units)}"
        if self.most_rows is not None:
            capacity = " (the capacity)" if self.most_rows == self.capacity else ""
            tables += f", among tables of at most {self.most_rows:,} rows{capacity}"
        if self.typed_by is not None:
            types = f"the {self.typed_by}'s column types"
            tables += f", given {GIVEN_OF_QUERIES.get(self.typed_by, types)}"
        trust = ", provided that these parts, which are not from dpcore, are right: "
        trust = f"{trust}{', '.join(self.foreign)}" if self.foreign else ""
        return (
            f"{subject} is {self._claim()} under {tables}, as enforced by the "
            f"{self.accountant} filter ({self.conversion} conversion){trust}. {self._in_words()}"
            f"{self._of_part()}{self._ex_post()}{self._of_users()}{self._of_bounds()}"
            f"{self._of_counts()}{self._of_evaluation()}{self._of_intervals()}{self._of_steps()}"
            f"{self._of_fits()}{self._of_rest()}"
        )

    def _claim(self) -> str:
        pair = f"({exact(self.epsilon)}, {exact(self.delta)})-differentially private"
        if self.native_budget is None:
            return pair
        name, value = self.native_budget
        return f"{name}-{self.NOTIONS[name]} with {name} = {exact(value)}, and so {pair},"

    def _of_part(self) -> str:
        said = f" The table is a part, the rows of {self.part} alone: no other row was used."
        return said if self.part is not None else ""

    def _ex_post(self) -> str:
        if self.ex_post_epsilon is None:
            return ""
        return (
            f" That is the worst case agreed to beforehand. Ex-post: the outcome that happened has "
            f"a privacy loss of at most {exact(self.ex_post_epsilon)}"
            f"{f', with a delta of {exact(self.delta)}' if self.delta else ''}; that number is a "
            "function of the outcome, and is no guarantee of differential privacy."
        )

    def _of_users(self) -> str:
        if self.users is None:
            return ""
        least, most = self.users["epsilon"]
        budgets = f"epsilon {exact(most)} and delta {exact(self.users['delta'][1])} each"
        if self.users["epsilon"][0] != most or self.users["delta"][0] != self.users["delta"][1]:
            deltas = " to ".join(map(exact, self.users["delta"]))
            budgets = f"epsilon from {exact(least)} to {exact(most)}, delta from {deltas}"
        return (
            f" Each of the {self.users['count']} users has a filter and a public budget of their "
            f"own ({budgets}), which holds for all that the user sent; the unit is one row of a "
            f"user, not the user. Trust model {self.users['trust_model']}: "
            f"{self.users['server_sees']}."
        )

    def _of_bounds(self) -> str:
        if self.private_bounds is None:
            return ""
        names = ", ".join(map(repr, self.private_bounds["columns"]))
        return (
            f" The bounds of {names} were not public: they were released from the rows, for "
            f"{self.private_bounds['share']:.0%} of the same budget, within the guarantee."
        )

    def _of_counts(self) -> str:
        if self.balanced is None:
            return ""
        return (
            " The weights of the classes follow from their counts, which were released from the "
            f"rows, for {self.balanced['share']:.0%} of the same budget, within the guarantee."
        )

    def _of_evaluation(self) -> str:
        if self.evaluation is None:
            return ""
        of_own = self.evaluation.get("epsilon")
        alone = "" if of_own is None else f" (an epsilon of {exact(of_own)} by themselves)"
        return (
            " Metrics of the model were released from rows held out, for "
            f"{self.evaluation['share']:.3g} of the same budget{alone}, within the guarantee."
        )

    def _of_intervals(self) -> str:
        if self.intervals is None:
            return ""
        share = f"{self.intervals['share']:.3g} of the same budget"
        if "intervals" not in self.releases:
            return (
                f" Of the sums behind intervals of the coefficients, for which {share} was set "
                "aside, none was released."
            )
        return (
            " Sums behind intervals of the coefficients were released from the rows, for at most "
            f"{share}, within the guarantee."
        )

    def _of_steps(self) -> str:
        return "".join(
            f" The step {name} had {stated['share']:.3g} of the same budget, within the guarantee."
            for name, stated in (self.steps or {}).items()
        )

    def _of_fits(self) -> str:
        return (
            f" It is of {self.fits} fits, one for each class against the rest, each with an equal "
            "part of the budget, fixed beforehand; the guarantee is for all of them together."
            if self.fits > 1
            else ""
        )

    def _of_rest(self) -> str:
        search = "" if self.search is None else f" {self.search['words']}"
        return f"{search} Code: {self.code}." if self.code else search

    def _in_words(self) -> str:
        """Return the definition: P(S) <= e^epsilon P'(S) + delta for every set S of outcomes."""
        of_rows = _CHANGES.get(self.relation, f"a change of one row ({self.relation})")
        change = of_rows if self.units is None else self.units.changed(self.relation)
        extra = f", plus at most {exact(self.delta)}" if self.delta else ""
        public = (
            f" n0 = {self.n0}, used as the number of rows, counts as public." if self.n0 else ""
        )
        if self.capacity is not None and self.capacity != self.most_rows:
            public += (
                f" Sums are exact up to capacity = {self.capacity} rows: over more they may wrap "
                "around, which costs accuracy, not privacy."
            )
        of_units = "" if self.units is None else self.units.note
        return (
            f"In words: {change} changes the probability of any outcome by a factor of at most "
            f"{exp_in_words(self.epsilon)}{extra}.{of_units}{public}"
        )

    def _unit_of_protection(self) -> str:
        if self.units is not None:
            return f"all rows of one {self.units.thing}, {self.units.used}"
        return "one row" if self.users is None else "one row of a user"

    def to_dict(self, subject: str = "This model") -> dict[str, Any]:
        """Return the statement as JSON-able data, its sentence included."""
        data = {_IN_FILES.get(name, name): value for name, value in asdict(self).items()}
        data["code"] = self.code
        data["units"] = None if self.units is None else self.units.to_dict()
        for name in (*WHERE_GIVEN, "search", "ledger"):
            if data[name] is None:
                del data[name]
        if self.fits == 1:
            del data["fits"]
        data |= dict(filter(None, [data.pop("native_budget")]))
        return {
            "private": self.private,
            "why_not_private": list(data.pop("why_not_private")),
            "sentence": self.sentence(subject),
            "unit_of_protection": self._unit_of_protection(),
            **data,
            "parts_not_from_dpcore": list(self.foreign),
            "spent_is": "book-keeping of the filter; the guarantee is epsilon and delta",
        }


foreign_parts = PrivacyStatement.foreign_parts
