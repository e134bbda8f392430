"""The steps of a run beside its optimizer's: what they ask for, and what they release.

A step is a frozen dataclass of its options. Before anything is charged, ``check`` refuses what does
not fit, and returns what is asked for. Its releases are made where its phase is: bounds before rows
are encoded, counts of classes before the optimizer, metrics of the model after it. A step alters
nothing: it returns a change and a section. How they share one filter is in
``dpcore.fitting.steps.run``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpcore.fitting.steps.budget_share import StepSession, exact_share, stated_share
from dpcore.fitting.steps.facts import Phase

if TYPE_CHECKING:
    import numpy as np

    from dpcore.fitting.steps.views import PublicFacts
    from dpcore.model.model import Model
    from dpcore.protocols import Mechanism, Query
    from dpcore.protocols.problem import Solution

__all__ = [
    "OneRelease",
    "Outcome",
    "Request",
    "RunStep",
    "Section",
]


@dataclass(frozen=True)
class Section:
    """The part of a model file that a step has: a function of releases and of public facts.

    Parameters
    ----------
    data : JSON-able; arrays become lists. Data with anything else, such as a date, a set or a
        Fraction, are left out of the model file, with a warning.
    lines : the same in words, as ``dpcore info`` and reports show it.
    version : of the form of ``data``.

    Examples
    --------
    >>> from dpcore.plugin.steps import Section
    >>> Section({"yes": 31.5}, ("About 32 rows are of the class yes.",)).version
    1
    """

    data: Mapping[str, Any]
    lines: tuple[str, ...] = ()
    version: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.lines, str):
            object.__setattr__(self, "lines", (self.lines,))

    @classmethod
    def of(cls, model: Model, name: str) -> Section | None:
        """Return the section that a model has under a name; ``None`` where it has none."""
        kept = model.sections.get(name)
        return None if kept is None else cls(kept["data"], tuple(kept["lines"]), kept["version"])


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a step: functions of its releases and of public facts.

    Parameters
    ----------
    section : for the model file, under the step's name.
    bounds : of the phase ``schema``, by the name of their column; of steps of dpcore alone.
    class_weights : of the phase ``problem``, in the order of the classes; of steps of dpcore alone.
    solution : of the phase ``result``: the model and the steps after this one have it in the place
        of the optimizer's; of steps of dpcore alone.
    stated : of it in the privacy statement; ``None`` for what its request states.
    """

    section: Section | None = None
    bounds: Mapping[str, tuple[float, float]] | None = None
    class_weights: tuple[float, ...] | None = None
    solution: Solution | None = None
    stated: dict[str, Any] | None = None


class Request(Protocol):
    """The releases that a step asks for, fixed before anything is charged.

    Parameters
    ----------
    share : the most of the budget that they cost together.
    releases : query and mechanism of each, tried out over no rows beforehand; at a model of zeros,
        where they are at the model.
    stated : of them in the privacy statement, ``None`` where that follows from a release.
    """

    @property
    def share(self) -> float | Fraction: ...
    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]: ...
    @property
    def stated(self) -> dict[str, Any] | None: ...

    def run(self, session: StepSession, view: Any) -> Outcome:
        """Make the releases, and return what follows from them. ``view`` : PublicFacts; a
        ``ResultView`` in the phase ``result``."""


@dataclass(frozen=True, eq=False)
class OneRelease:
    """One release of a query over all rows of a run (``Request``).

    Parameters
    ----------
    mechanism : costs the share of the budget, at most (``mechanism_for``).
    follow : returns the outcome, of the view, the noisy answer, and the standard deviation of its
        noise. It is asked nothing in a dry run.
    """

    share: float | Fraction
    query: Query
    mechanism: Mechanism
    follow: Callable[[Any, np.ndarray, float], Outcome]
    stated: dict[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.stated is None:
            object.__setattr__(self, "stated", {"share": stated_share(exact_share(self.share))})

    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]:
        """The one."""
        return ((self.query, self.mechanism),)

    def run(self, session: StepSession, view: Any) -> Outcome:
        """Make the release, and return what follows."""
        answer = session.release(self.query, self.mechanism)
        return self.follow(view, answer, session.deviation(self.query, self.mechanism))


class RunStep(Protocol):
    """A frozen dataclass that makes a release beside the fit; its fields are its options.

    It declares what ``dpcore.fitting.steps.facts.StepFacts`` lists, as class variables or fields.
    """

    @property
    def name(self) -> str: ...
    @property
    def phase(self) -> Phase: ...

    def check(self, facts: PublicFacts) -> Request:
        """Return what the step asks for.

        Raises InvalidInputError, before anything is charged, where the step does not fit the run.
        """
