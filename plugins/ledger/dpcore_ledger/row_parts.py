"""Runs over parts of a table: together they cost the largest sum of a part, and not all sums.

A *partition* is a column of listed levels under one schema, and of one query, where the rows are
those of a query; a *part* is the rows of one level, which dpcore selects
(``dpcore_tables.files.row_part``). A row is in one part of a partition at most, by a public
function of its own cell. Of runs over all rows and over parts of partitions a ledger counts

    all rows + sum over partitions of (the largest, over the partition's parts, of the part's sum)

and lets a run in only if this does not exceed the cap, in the filter's unit and of delta each.

Theorem (parallel composition: McSherry 2009, Theorem 4, for releases that are fixed beforehand;
here for runs, parts and partitions that are chosen in the light of all that was released). All
runs together have the guarantee of the ledger's filter.

Proof, add-or-remove-one. Fix two tables that differ in a row r, and of each partition the one part
p, if any, that r is in. A run over another part reads the same rows of both tables: given all that
was released before, it has one distribution on both, and costs this pair nothing. What the pair
sees is the concurrent adaptive composition of the runs over all rows and over the parts p. Which
these are follows from r and from what was released, and their sum is at most what the ledger
counts: a filter that composes these runs alone (``dpcore_ledger.cost``) would have let each of them
in. A partition that is first named late changes nothing: r's place in it was settled before. Of two
partitions r is in a part each, so that their costs add.

Proof, replace-one. A run over a part is under add-or-remove-one, since the part's number of rows is
private, and is charged as two steps, c2. Where the old row and the new one are of one part, the
pair sees two steps of that part's runs: c2 each. Where they are of two, p loses a row and q gets
one: the pair sees one step, c1, of the runs of both. For every charge c2 >= 2 c1. Two steps
multiply rho and mu^2 by four, and epsilon by two; delta (1 + e^epsilon) >= 2 delta. What is charged
as a pure release costs the divergence of randomised response: two releases at epsilon are together
2 epsilon-private, so that randomised response at 2 epsilon dominates them (Kairouz, Oh & Viswanath
2015), and its divergence is no less than the sum of theirs; in mu^2 that does not follow, since
what two releases have together is no divergence that adds up. There c2 = 4 g(2 epsilon)^2 and c1 =
4 g(epsilon)^2 (``dpcore.accountants.gaussian_mu``), and g^2 is convex and 0 at 0: with u = g(x),
(g^2)' = 2 Phi(u) times u Phi(-u) / phi(u), which both grow with u (Gordon 1941, as there). So

    c1 of p's runs + c1 of q's runs <= (c2 of p's + c2 of q's) / 2 <= the larger of c2's sums,

which is what is counted. The largest sum of *single* steps would not do: p's and q's add up.

A unit of several rows may be in several parts: runs over parts are for units of one row.

All of it is about one table: a row has one cell of the partition's column, and readers read it
alike. Where a cell was changed between two runs, its row was in a part before and is in another now
and sees the runs of both: the ledger, which does not know of the change, counts the larger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Part", "most_seen"]


@dataclass(frozen=True)
class Part:
    """A part of a ledger's table.

    Parameters
    ----------
    schema : the digest of the schema, and of the query of a database, by which cells are read: by
        another one a cell may be of another level, so that the partition is another one too.
    column, name : as ``dpcore.privacy.unit_of_privacy.RowPart`` has them.
    """

    schema: str
    column: str
    name: str

    @property
    def partition(self) -> tuple[str, str]:
        return self.schema, self.column

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def most_seen(charges: Iterable[tuple[Part | None, int]], part: Part | None = None) -> int:
    """Return the most that a row sees of charges to parts, ``None`` for all rows; of a row in
    ``part``, if one is given."""
    sums: Counter[Part | None] = Counter()
    for charged, amount in charges:
        sums[charged] += amount
    largest: dict[tuple[str, str], int] = {}
    for known, amount in sums.items():
        if known is not None:
            largest[known.partition] = max(amount, largest.get(known.partition, 0))
    if part is not None:
        largest[part.partition] = sums[part]
    return sums[None] + sum(largest.values())
