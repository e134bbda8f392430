"""The protocols of questions: sums over rows, answers derived from sums, passes, samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dpcore.data.blocks.block import Block
    from dpcore.data.blocks.table import Table
    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.events import DpEvent
    from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity

__all__ = ["DerivedQuery", "Query", "SampledQuery", "TableQuery"]


@runtime_checkable
class Query(Protocol):
    """A question whose exact answer is a sum over rows of integers.

    ``thread_safe = True`` in its own class means what it does for a ``Loss``.

    Where a sum over more than some number of rows wraps around, ``rows_that_fit`` says that number,
    an int, and the statement of the run does: such a sum is of no use, and as private as others.
    Where the sensitivity itself holds up to some number of rows, that is ``most_rows``
    (``DerivedQuery``).

    ``clips_units = True`` in its class says that it bounds what a unit of several rows contributes
    (``block.units``), and that its sensitivity is between tables that differ in one unit. In a run
    over units it is refused by a table without them, and by an engine that has no table at hand.

    A query or mechanism whose claim is known not to hold, kept for comparison, states
    ``private: ClassVar[bool] = False``: a run that released it is not private.
    """

    kind: ClassVar[str]
    """The word under which its releases are counted: gradient, selection, count."""

    def start(self) -> np.ndarray:
        """Return the public value the sum starts from: int64 zeros, or a public offset, in grid
        steps. It is the whole answer over an empty table."""

    def answer_block(self, block: Block) -> np.ndarray:
        """Return the block's part, int64 of the shape of ``start()``, in grid steps. A session asks
        it first of a block without rows, so that what it loads is there before the charge."""

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity: ...


@runtime_checkable
class DerivedQuery(Protocol):
    """A question whose exact answer is worked out from exact sums: a minimiser, a pass of SGD.

    One release, charged as one: the sums behind it are never released. It runs inside the trust
    boundary, on any engine.

    Where the sensitivity holds up to some number of rows alone, ``most_rows`` says so, an int, and
    the statement of the run does: this query's or any other's.

    The sums that its parts hold are asked of no rows before the charge, and those that a method
    ``dry_run_queries`` of a part returns as a tuple, so that their kernels are loaded then. A
    function in it is called with a block of no rows.

    ``by_each_row = True`` in its class says that ``derive`` makes no random choice and that the
    bound under add-or-remove-one holds for any two tables with one row more or less, so that k rows
    move the answer by k times it. Without it units of several rows are refused.
    """

    kind: ClassVar[str]

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        """Return the answer, int64 in grid steps of the sensitivity.

        ``ask`` gives the exact answer of a sum, or of another derived query. ``noise`` is for
        random choices that the theorem behind the sensitivity needs, such as a secret permutation.
        """

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity: ...


@runtime_checkable
class TableQuery(Protocol):
    """A question that goes through the rows in an order of its own: a pass of SGD.

    One release, charged as one. It runs inside the trust boundary, on an engine that has the whole
    table at hand and so offers ``answer_table(query, noise)``; another one refuses it uncharged,
    and says why in the words of ``whole_table``, a text of its class that follows its name.

    Where units have several rows it is refused, unless its class states ``draws_units = True``: it
    is then the sum ``query`` over some of the units (``Table.units``), each with all of its rows,
    by coins that do not depend on the rows.
    """

    kind: ClassVar[str]

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        """Return the answer, int64 in grid steps of the sensitivity.

        ``noise`` is for random choices that the theorem behind the sensitivity needs, such as a
        secret permutation; how many words they take depends on public facts only.
        """

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity: ...


@runtime_checkable
class SampledQuery(TableQuery, Protocol):
    """A sum over a random sample of the rows, drawn afresh for every release and never shown.

    It is released by itself: nothing is derived from it and no interactive mechanism asks for it.
    """

    @property
    def query(self) -> Query:
        """The sum that is asked of the sample."""

    def sampled_event(self, event: DpEvent, relation: NeighboringRelation) -> DpEvent:
        """Return the cost of a release whose cost without sampling is ``event``."""
