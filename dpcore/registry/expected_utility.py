"""The expected utility of a run: what may be expected of it, from public facts alone."""

import math
from dataclasses import dataclass

__all__ = ["ExpectedUtility"]


@dataclass(frozen=True, kw_only=True)
class ExpectedUtility:
    """The forecast of how much of a model's gain privacy keeps, from other tables; no guarantee.

    The gain is accuracy above that of the more frequent class, or squared error below the variance.

    Parameters
    ----------
    kept : the share of the gain without privacy that is kept, from 0 to 1; ``None`` where no number
        of rows is public.
    rows_needed : rows from which on a model does better than a constant at this budget, about.
    error_left : errors without privacy over a constant's, at the middle of the other tables.
    spread : how far from ``kept`` half of the other tables were, where it is neither 0 nor 1.
    between : two shares between which nine of ten of the other tables kept theirs; ``None`` where
        no number of rows is public, or none were measured.

    Examples
    --------
    >>> from dpcore.plugin import ExpectedUtility
    >>> ExpectedUtility(kept=0.8, rows_needed=500, error_left=0.6, spread=0.1).rows_needed
    500
    """

    kept: float | None
    rows_needed: int
    error_left: float
    spread: float
    between: tuple[float, float] | None = None

    @staticmethod
    def rounded(value: float) -> float:
        """Return two digits of a value, rounded up: a forecast has no more."""
        unit = 10.0 ** (1 - math.floor(math.log10(value)))
        return math.ceil(round(value * unit, 6)) / unit


"""The name of before, for this version."""
