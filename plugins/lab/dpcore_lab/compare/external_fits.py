"""External algorithms in a comparison: their admission, before anything is charged or noted, and
the rows of their fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import LedgerRequest
from dpcore.plugin.parts import load_registry
from dpcore_lab.compare.data_rows import is_private, request_for
from dpcore_lab.compare.exact_metrics import class_metrics, number_metrics
from dpcore_lab.externals.process import FAILED, FINISHED, Caps
from dpcore_lab.externals.registry import CLASSES, NUMBER, Externals, load_externals
from dpcore_lab.externals.run import Outcome, Request, check_external, run_external
from dpcore_tables.files.requested import schema_of_rows

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore_lab.compare.data_rows import Fold
    from dpcore_lab.compare.settings import Cell, Comparison

__all__ = ["admit_externals", "external_row", "externals_among", "refuse_ledger"]


def externals_among(labels: Sequence[str]) -> tuple[str, ...]:
    """Return which labels are external algorithms; a name of an optimizer never is.

    Raises InvalidInputError for a name that nobody registers where a plugin of externals failed.
    """
    known = (*load_registry().names("optimizer"), "all")
    others = [label for label in labels if label.partition(":")[0] not in known]
    found = load_externals() if others else Externals({})
    lost = [label for label in others if label not in found.found]
    if lost and found.failures:
        raise InvalidInputError(f"There is no algorithm {lost[0]!r}.{found.hint()}")
    return tuple(label for label in others if label in found.found)


def admit_externals(comparison: Comparison, names: Sequence[str], *, classification: bool) -> None:
    """Raise InvalidInputError for externals that cannot be compared as asked.

    Nothing of the rows is read. Where a table has a ledger they are refused: what they cost is not
    known, and a ledger's promise is of all runs over its rows.
    """
    Caps(*comparison.caps)
    task = CLASSES if classification else NUMBER
    for name in names:
        external = load_externals().get(name)
        check_external(external)
        faults = (
            (name in comparison.labels_set, "takes no parameters: leave --set and --use out."),
            (task not in external.tasks, f"fits {' and '.join(external.tasks)} alone."),
            (comparison.multiclass is not None, "fits no classes against the rest."),
            (comparison.delta == 0 and not external.pure, "is not pure: it needs delta > 0."),
        )
        for holds, what in faults:
            if holds:
                raise InvalidInputError(f"{name} {what}")
    for name in filter(is_private, comparison.data) if names else ():
        schema = schema_of_rows(request_for(name, comparison.schema))
        if schema is not None:  # Else it stands with the rows.
            refuse_ledger(names[0], name, schema)


def refuse_ledger(external: str, name: str, schema: Schema) -> None:
    """Raise InvalidInputError where private rows have a ledger."""
    if is_private(name) and LedgerRequest().of(schema) is not None:
        raise InvalidInputError(
            f"{external} is not ours, and what it costs is not checked: the ledger of {name} "
            "cannot be charged for it. Compare it on rows that have no ledger."
        )


def external_row(
    cell: Cell, comparison: Comparison, fold: Fold, threads: int | None
) -> dict[str, Any]:
    """Return what a row has of an external's fit, beside what tells the cell."""
    external = load_externals().get(cell.algorithm)
    assert cell.epsilon is not None
    seed = cell.seed(comparison.seed)
    budget = cell.epsilon, comparison.delta, comparison.relation
    request = Request(fold.train, fold.test, *budget, seed=seed)
    try:
        outcome = run_external(external, request, Caps(*comparison.caps), threads)
    except Exception as error:
        # Its own text may hold a private value.
        outcome = Outcome(FAILED, f"{type(error).__name__} around the fit.", None, 0.0, 0.0, 0)
    scores = {} if outcome.predictions is None else _scores(fold, outcome.predictions)
    return {
        **scores,
        "distribution": external.distribution,
        "delta": comparison.delta,
        "l2": None,
        "seed": seed,
        "private": None,
        "guarantee": "; ".join(external.marks),
        "status": "fitted" if outcome.status == FINISHED else outcome.status,
        "message": outcome.message,
        "exact_seconds": outcome.seconds if outcome.predictions is not None else None,
    }


def _scores(fold: Fold, said: np.ndarray) -> Mapping[str, float | None]:
    """Return the metrics of the test rows; of two classes ``said`` are probabilities."""
    schema, y = fold.test.schema, fold.test.y
    if schema.label.is_real:
        return number_metrics(schema, y, said)
    return class_metrics(schema, y, (said > 0.5).astype(np.int64), said)
