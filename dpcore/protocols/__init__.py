"""The protocols of the parts. Structural: a plugin implements them, it inherits nothing.

Here are the parts that answer, release and account. Beside them are the optimizer (``optimizer``),
what it is told (``problem``), what answers it (``session``), releases in several steps
(``interactive``), engines of rows elsewhere (``file_engine``), and users who each keep their rows
(``user_pool``). What a class states of itself is checked when it is loaded, by the tables of
``dpcore.registry.tables.optimizer_spec``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from dpcore.protocols.query import DerivedQuery, Query, SampledQuery, TableQuery

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np

    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.events import DpEvent
    from dpcore.privacy.sensitivity import Sensitivity

__all__ = [
    "Accountant",
    "DerivedQuery",
    "Engine",
    "Loss",
    "Mechanism",
    "Query",
    "SampledQuery",
    "TableQuery",
]


@runtime_checkable
class Mechanism(Protocol):
    """A randomised release and what it costs.

    Every mechanism is a frozen dataclass of one noise parameter, ``noise_multiplier``: the scale of
    its noise over the sensitivity it needs (the bound in a norm, or the range of the change of the
    scores). The scale on the answer's grid is that product rounded *up*, the event's value is that
    scale over the sensitivity rounded to the side that costs more.
    """

    name: ClassVar[str]
    """The name that messages call it by: that under which it is registered, if it is."""
    needs: ClassVar[str]
    """``"l2"``, ``"l1"``, ``"linf"`` or ``"range"``: the bound of a sensitivity that it is scaled
    to."""

    @property
    def noise_multiplier(self) -> float: ...

    def event(self, sensitivity: Sensitivity) -> DpEvent:
        """Return what one release costs, known before the data are touched.

        Raises InvalidInputError for a sensitivity of the wrong norm or a noise scale that does not
        fit the grid.
        """

    # For scores ``exact`` holds utilities: the largest is the best.
    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> Any:
        """Return the noisy value of ``exact`` (int64 steps of the sensitivity's grid): a float64
        array in the answer's unit, or, for a selection, the chosen index as an int."""


@runtime_checkable
class Accountant(Protocol):
    """Adds up events, and refuses the event that would exceed the budget. An immutable value.

    What its class may state besides, such as its conversions and how it is planned for a schedule,
    is in ``dpcore.registry.tables.parts.AccountantFacts``.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    """The unit of ``budget`` and ``spent``: rho, mu^2, RDP at one order, epsilon."""
    fully_adaptive: ClassVar[bool]
    """Whether it is a valid filter when events are chosen from earlier outputs."""

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def conversion(self) -> str: ...

    @classmethod
    def from_budget(cls, epsilon: float, delta: float, conversion: str | None = None) -> Self:
        """Return the empty accountant whose filter enforces (epsilon, delta)."""

    @property
    def budget(self) -> float: ...

    @property
    def spent(self) -> float: ...

    @property
    def remaining(self) -> float: ...

    def supports(self, event: DpEvent) -> bool: ...

    def cost(self, event: DpEvent) -> Fraction:
        """Return an upper bound of the event's cost in ``unit``; UnsupportedEventError if none."""

    def compose(self, event: DpEvent) -> Self:
        """Return the accountant after the event; BudgetExceededError if it does not fit."""

    def get_epsilon(self, delta: float) -> float:
        """Return the epsilon of what was spent, rounded up: book-keeping, not the guarantee."""

    # A class that holds one release at most, or none, declares ``holds_several = False``: it is
    # not looked at where a schedule's accountant is chosen or accountants are compared.


@runtime_checkable
class Loss(Protocol):
    """A function of a row's margin ``z = x.w`` and label ``y``, row by row.

    A class that declares ``multiclass = True`` is one of a row's margins of all classes: ``z``, and
    the ``out`` of ``dvalue``, have shape (n_classes, n_rows) in C order, and ``y`` is the place of
    the row's class, 0.0 to n_classes - 1. Its ``lipschitz`` bounds the l2 norm of a row's slopes,
    its ``smoothness`` is their Lipschitz constant in l2.

    ``value`` and ``dvalue`` fill ``out`` from contiguous float64 arrays of one length; each entry
    is a pure function of its own ``z`` and ``y``: same bits in any order, split or company,
    which the checks of a loss test. They run on raw rows, inside the trust boundary.

    All that it may state beside these attributes is in the table
    ``dpcore.registry.tables.losses.LossFacts``.
    What is there with a default counts only where the class itself states it, not a base of it.

    A loss may also offer ``line_totals((z, z_direction, factor), y, step, count, clip, scale)``:
    int64 of shape (count,), for each k the sum over rows of the loss at the margin
    ``factor (z - k step z_direction)``, in steps of 1 / scale, each a whole number from 0 to
    ``floor(clip scale)``; or ``None`` where it has no faster way than ``value``.

    A class that declares ``thread_safe = True`` in its own body (it is not inherited) is called
    by several threads at a time: it must keep nothing between or during calls. Others are called
    by one at a time.
    """

    name: ClassVar[str]
    classification: ClassVar[bool]
    """True: labels are -1.0 and +1.0, or class indices (``multiclass``). False: labels are
    real numbers (ridge)."""
    lipschitz: float
    """Bound of ``|dvalue|``, ``inf`` if there is none."""
    smoothness: float
    """Lipschitz constant of ``dvalue`` in the margin, ``inf`` if there is none."""

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None: ...

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None: ...


@runtime_checkable
class Engine(Protocol):
    """Answers a query over all rows: each block exactly once, integers added modulo 2^64. What a
    query raises is raised; a part that is not int64 of the shape of ``start()`` is refused.

    Inside the trust boundary: its answers are exact and go to the session only. It may also offer
    ``without_rows()``: an engine of the same form whose table has no rows, on which a session tries
    a question before it is charged (``dpcore.session.dry_run``).

    A registered one is opened by its class method ``open(table, schema, threads)``, where ``None``
    leaves the number of threads to it; or it declares ``reads_files = True`` and opens files
    (``dpcore.protocols.file_engine``).
    """

    def answer(self, query: Query) -> np.ndarray: ...
