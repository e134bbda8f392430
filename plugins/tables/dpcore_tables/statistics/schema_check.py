"""The fit of a schema to the rows of a file or a frame: the share of cells that it clamps or does
not know.

Exact for the owner of the rows, or noisy, by the same session as every other release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, Geometric, NeighboringRelation, noise_multiplier
from dpcore.plugin.commands import LedgerRequest, SessionRun
from dpcore.plugin.parts import (
    NoiseSource,
    PrivacyStatement,
    PureAccountant,
    TableSession,
    load_registry,
)
from dpcore_tables.files.formats import claim_of, entry_of, is_store, is_typed
from dpcore_tables.files.input_paths import refuse_stdin
from dpcore_tables.files.stream import named_schema
from dpcore_tables.memory.frames import frame_names, frame_of, is_frame, path_of
from dpcore_tables.statistics.cell_counts import CellCounts
from dpcore_tables.statistics.check_text import SchemaCheck
from dpcore_tables.statistics.raw_cells import (
    BINS,
    RawCells,
    checked_names,
    raw_cells,
    raw_pieces,
)
from dpcore_tables.statistics.turned_numbers import turned_numbers
from dpcore_tables.statistics.unit_check import check_units

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import Query

__all__ = ["SchemaCheck", "check_schema", "lent_check"]


class _RawRows:
    """An engine over the cells of rows as they stand; no other query can be asked of it."""

    def __init__(self, source: Any, schema: Schema) -> None:
        self._source = source
        self._schema = schema

    def blocks(self) -> Iterator[RawCells]:
        return raw_cells(self._source, self._schema)

    def answer(self, query: Query) -> np.ndarray:
        total = query.start()
        for block in self.blocks():
            total += query.answer_block(block)  # type: ignore[arg-type]
        return total


def check_schema(
    source: Any,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    epsilon: float | None = None,
    delta: float = 1e-8,
) -> SchemaCheck:
    """Return which shares of the cells of a file or a frame the schema clamps or does not know.

    They are exact, which is not private, or, with an ``epsilon``, one (epsilon, delta)-
    differentially private release under add-or-remove-one.

    ``schema`` : as ``dpcore.fit`` has it.

    Raises InvalidInputError for a store, whose rows are encoded, and for a budget that cannot be;
    DataError (for the owner's eyes) for a file that cannot be read, before anything is spent.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpcore import check_schema
    >>> frame = pd.DataFrame({"paid": [38.767, 950.0, 1.25], "late": ["no", "yes", "?"]})
    >>> columns = {"paid": {"kind": "numeric", "lower": 500, "upper": 100000}}
    >>> columns["late"] = {"kind": "label", "classes": ["no", "yes"]}
    >>> print(str(check_schema(frame, {"columns": columns})).partition(" has ")[0])
    column  kind     below   above  unknown  empty
    paid    numeric  66.67%  0.00%  0.00%    0.00%
    late    label                   33.33%   0.00%
    'paid'
    """
    with lent_check(source, schema, epsilon, delta) as check:
        return check


@contextmanager
def lent_check(
    source: Any,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    epsilon: float | None,
    delta: float,
) -> Iterator[SchemaCheck]:
    """Lend what ``check_schema`` returns. What ends the block has a note of what was charged."""
    found: Schema | None = Schema.given(schema)
    source = frame_of(source)
    if found is None:
        raise InvalidInputError("Expected the schema that the rows are to be held against.")
    schema = found
    LedgerRequest().of(schema)  # What it refuses is refused before a row is read.
    if is_frame(source):
        schema, claim = schema.for_names(frame_names(source)), ""
        typed_by: str | None = "frame"
    else:
        source = path_of(source)
        _require_file(source)
        schema, typed_by = named_schema(source, schema), "file" if is_typed(source) else None
        claim = claim_of(entry_of(source), source, schema)
    if epsilon is not None and schema.unit is not None:
        raise InvalidInputError(
            "A release of how a schema fits protects one row, not all rows of one "
            f"{schema.unit!r}: leave --epsilon out for exact shares, which are for the owner of "
            "the rows, or take a schema without unit, if it is enough to protect a row."
        )
    columns, rows = checked_names(schema), _RawRows(source, schema)
    # Read through once before anything is charged: a file may be damaged at its end.
    exact = rows.answer(CellCounts(len(columns)))
    if epsilon is None:
        LedgerRequest().note_outside(schema, "exact metrics of how a schema fits")
        shares = _check(exact.astype(np.float64), columns)
        turned = tuple(turned_numbers(raw_pieces(source, schema), schema).items())
        yield replace(shares, units=check_units(source, schema), turned=turned)
        return
    if claim:
        raise InvalidInputError(
            f"A release of how a schema fits reads the rows twice, and those of a {claim} may be "
            "others then: leave --epsilon out, or save the rows as Parquet."
        )
    with _released(rows, columns, (epsilon, delta), schema, typed_by) as noisy:
        yield noisy


def _require_file(path: str) -> None:
    """Raise for what cannot be read twice, and for a store."""
    if is_store(path):
        raise InvalidInputError(
            f"The rows of the store {path} are encoded: what was clamped or unknown is not told "
            "apart there any more. Check the file that it was converted from."
        )
    refuse_stdin(path)


@contextmanager
def _released(
    rows: _RawRows,
    columns: tuple[tuple[str, str], ...],
    budget: tuple[float, float],
    schema: Schema,
    typed_by: str | None,
) -> Iterator[SchemaCheck]:
    (epsilon, delta), relation = budget, NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant: Accountant
    mechanism: Gaussian | Geometric
    if delta == 0:
        accountant = PureAccountant.from_budget(epsilon, 0.0)
        multiplier = noise_multiplier(accountant, Geometric.nominal_event, accountant.remaining)
        query, mechanism, spread = CellCounts(len(columns), "l1"), Geometric(multiplier), 2**0.5
    else:
        gdp = load_registry("accountant").load("accountant", "gdp")
        accountant = gdp.from_budget(epsilon, delta)
        multiplier = noise_multiplier(accountant, Gaussian.nominal_event, accountant.remaining)
        query, mechanism, spread = CellCounts(len(columns), "l2"), Gaussian(multiplier), 1.0
    run = SessionRun(
        LedgerRequest(),
        ("a check of the schema", accountant, relation),
        schema,
        why_not_private=schema.why_not_private,
        trusted=(PrivacyStatement.part_of(SchemaCheck),),
        typed_by=typed_by,
    )
    deviation = multiplier * query.sensitivity(relation).bound * spread
    run.charges.fate = lambda: "the shares may not have been printed"
    with run.charges.told():
        with run.charged.closing():
            session = run.opened(TableSession, rows, NoiseSource.of_seed())
            noisy = session.release(query, mechanism)
        sentence = run.statement().sentence("This table of shares")
        yield _check(noisy, columns, deviation, sentence)


def _check(
    counts: np.ndarray,
    columns: tuple[tuple[str, str], ...],
    deviation: float = 0.0,
    sentence: str | None = None,
) -> SchemaCheck:
    cells = counts[1:].reshape(len(columns), len(BINS))
    return SchemaCheck(float(counts[0]), columns, cells, deviation, sentence)
