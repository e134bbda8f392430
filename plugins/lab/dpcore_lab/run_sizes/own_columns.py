"""Sums that are for their schema's columns alone, on rows of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.made_tables.contributions import contributions, largest_share
from dpcore_lab.made_tables.tables import made_of_problem
from dpcore_lab.replay.answers import unsampled
from dpcore_lab.run_sizes.schema_rows import special_rows_of

if TYPE_CHECKING:
    from dpcore_lab.run_sizes.request import LikeRun

__all__ = ["check_of_its_columns", "is_of_its_columns"]


def is_of_its_columns(make: Any, like: LikeRun) -> bool:
    """Return whether a sum over rows is made of the run's problem, and refuses all those of five
    features that the general check has."""
    try:
        made_of_problem(make)
    except InvalidInputError:
        return hasattr(unsampled(make(like.problem)), "answer_block")
    except Exception:  # The general check says how it fails.
        return False
    return False


def check_of_its_columns(make: Any, like: LikeRun) -> Tested:
    """Raise AssertionError if a row of the schema, with a number at a special value, contributes
    more than the sensitivity to a sum that is for its schema's columns alone."""
    query = unsampled(make(like.problem))
    rows = special_rows_of(like.rows, like.problem.numbers)
    share = largest_share(query, contributions(query, rows), like.relation)
    return Tested(
        f"{len(rows.y):,} rows of the schema, with numbers at special values, contribute at most "
        f"{share:.3g} of the sensitivity",
        not_tested=("other columns than the schema's, which it refuses",),
        ranges=(f"columns {like.problem.n_features:,}", f"rows 1 to {len(rows.y):,}"),
    )
