"""The charges of a run, told by whatever ends it: errors and interrupts carry them as a note."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dpcore.errors import OF_LEDGER

__all__ = ["Bound", "Budget", "Charged", "Charges", "charged_by"]

# Spent, budget and unit: functions of the events, so public.
Charged = tuple[float, float, str]

_CHARGED = "dpcore_charged"


@dataclass(frozen=True)
class Budget:
    """The parts of a budget added up, in their unit: ``budget`` rounded down, ``spent`` up."""

    name: str
    conversion: str
    unit: str
    budget: float
    spent: float


@dataclass(frozen=True)
class Bound:
    """The most that a run costs, known before it begins: its whole budget, under a relation.

    ``protected`` : what neighbouring tables differ in, in words. ``private`` : whether it
    guarantees anything.
    """

    epsilon: float
    delta: float
    relation: str
    protected: str
    private: bool


class Charges:
    """The charges of one run so far, and the fate of its model.

    ``fate`` : returns the end of the sentence about the model, looked up when the run ends.
    ``bound`` : the most that the run costs, where its caller is to know. ``listed`` : the requests
    for a ledger that were met, each with the place there, ``None`` of a run without a guarantee.
    """

    def __init__(self) -> None:
        self._charged: Callable[[], Charged | None] | None = None
        self.fate: Callable[[], str] = lambda: "no model of this run was kept"
        self.bound: Bound | None = None
        self.listed: list[tuple[object, object]] = []

    def follow(self, charged: Callable[[], Charged | None]) -> None:
        """Ask ``charged``, which returns ``None`` while nothing was charged, from now on."""
        self._charged = charged

    @property
    def charged(self) -> Charged | None:
        """Spent, budget and unit of what was charged; ``None`` for nothing."""
        return None if self._charged is None else self._charged()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Add to whatever ends the block what was charged, once, if a budget was opened.

        A block within another adds it first; the outer one leaves it at that.
        """
        try:
            yield
        except BaseException as error:
            if self._charged is not None and not hasattr(error, _CHARGED):
                setattr(error, _CHARGED, None if self.charged is None else self.bound)
                error.add_note(self._sentence(hasattr(error, OF_LEDGER)))
            raise

    def _sentence(self, is_told: bool) -> str:
        """Return what was charged, and the fate of the model. ``is_told`` : whether it was said
        what a ledger has of the run."""
        charged, fate = self.charged, self.fate()
        if charged is None:
            # A ledger may have the run's budget, though no release was made.
            return f"No release was made; {fate}." if is_told else f"Nothing was charged; {fate}."
        spent, budget, unit = charged
        return f"Charged, and spent: {spent!r} of {budget!r} {unit}; {fate}."


def charged_by(error: BaseException) -> Bound | None:
    """Return the most that the run cost which an error ended; None where nothing was charged."""
    bound: Bound | None = getattr(error, _CHARGED, None)
    return bound
