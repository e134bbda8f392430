"""The problem that an optimizer is told (public facts only) and the solution that it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.exact import grid
from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import NeighboringRelation

if TYPE_CHECKING:
    import numpy as np

    from dpcore.protocols import Loss

__all__ = ["Problem", "Solution"]

# No product of it with what runs make of released values leaves float64.
_LARGEST_L2 = 2.0**100


@sealed
@dataclass(frozen=True, slots=True)
class Problem:
    """Public facts of one fit: nothing here depends on a row.

    Parameters
    ----------
    loss : the row loss.
    l2 : weight of the regulariser; the objective is
        ``sum of losses + (n_public * l2 / 2) ||w||^2``. From 0 to 2^100.
    n_features : width of ``w`` (``w_shape``), the intercept's column included.
    row_norm : public bound of the l2 norm of every (scaled) row.
    raw_norm_bound : public bound of the l2 norm of every row as stored, before its factor.
    relation : the neighbouring relation of the run.
    n : the number of rows under replace-one; ``None`` where it is private: under add-or-remove-one,
        and where units have several rows.
    n0 : the schema's public value for the number of rows, or ``None``.
    capacity : public upper bound on the number of rows, for the grid of the sums. More rows than
        that cost utility, never privacy.
    intercept : whether the last column is 1 in every row.
    rows_per_unit : the rows of a unit at most, where the relation is between units of several rows;
        ``None`` where it is between rows.
    n_margins : margins of a row: 1, or, of a ``multiclass`` loss, one for each class.
    numbers : the places of features that hold a number between public bounds, each mapped to
        [0, 1], as the schema has it; empty where nothing is known of the columns.
    curves : first place and number of the hat functions that stand beside a number, for each that
        has some; at most two of them are not 0, and they add at most 1 to a row's squared norm.
    one_vs_rest : whether a label says if the row is of one class, of several that are fitted so;
        the margins of all of them are compared.

    Of the class are the grids (``dpcore.exact.grid``): features are multiples of
    ``2**-FEATURE_BITS``, parameters of ``2**-PARAMETER_BITS``, the points of a solver's last steps
    of ``2**-FINE_BITS``. A direction on ``2**-DIRECTION_BITS`` times a step size on
    ``2**-STEP_BITS`` is on the parameters' grid. Margins below ``2**MARGIN_BITS`` are exact.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> problem.w_shape, problem.n  # n is private under add-or-remove-one
    ((2,), None)
    """

    loss: Loss
    l2: float
    n_features: int
    row_norm: float
    raw_norm_bound: float
    relation: NeighboringRelation
    n: int | None = None
    n0: int | None = None
    capacity: int = 2**27
    intercept: bool = False
    rows_per_unit: int | None = None
    n_margins: int = 1
    numbers: tuple[int, ...] = ()
    curves: tuple[tuple[int, int], ...] = ()
    one_vs_rest: bool = False

    FEATURE_BITS: ClassVar[int] = grid.FEATURE_BITS
    PARAMETER_BITS: ClassVar[int] = grid.PARAMETER_BITS
    FINE_BITS: ClassVar[int] = grid.FINE_BITS
    DIRECTION_BITS: ClassVar[int] = grid.DIRECTION_BITS
    STEP_BITS: ClassVar[int] = grid.STEP_BITS
    MARGIN_BITS: ClassVar[int] = grid.MARGIN_BITS

    def __post_init__(self) -> None:
        for name in ("l2", "row_norm", "raw_norm_bound"):
            object.__setattr__(self, name, float(getattr(self, name)))  # and no subclass of it
        object.__setattr__(self, "numbers", tuple(int(place) for place in self.numbers))
        if self.n is not None and not self.relation.size_is_public:
            raise InvalidInputError("The number of rows is private under add-or-remove-one.")
        if self.n is not None and self.rows_per_unit is not None:
            raise InvalidInputError("The number of rows is private where units have several.")
        if not 0 <= self.l2 <= _LARGEST_L2:
            raise InvalidInputError(f"Expected 0 <= l2={self.l2!r} <= 2^100.")
        if self.n_features < 1:
            raise InvalidInputError("The data have no feature columns.")
        loss: Any = self.loss
        several = "multiclass" in vars(type(loss)) and loss.multiclass is True  # as LossFacts
        if self.n_margins < 1 or (self.n_margins > 1) != several:
            raise InvalidInputError(
                f"Expected n_margins={self.n_margins!r} to be the number of classes of a "
                "multiclass loss, or 1."
            )
        if not all(0 <= place < self.n_features for place in self.numbers):
            raise InvalidInputError("Expected every place in numbers to be one of the features.")

    @property
    def w_shape(self) -> tuple[int, ...]:
        """The shape of ``w``: (n_features,), or (n_margins, n_features) of several classes."""
        width = (self.n_features,)
        return width if self.n_margins == 1 else (self.n_margins, *width)

    @property
    def n_public(self) -> int | None:
        """``n`` where it is public, else the schema's ``n0``, else ``None``."""
        return self.n if self.n is not None else self.n0

    @property
    def rows_changed(self) -> int:
        """Largest number of row contributions in which the sums over two neighbours differ."""
        return self.relation.rows_changed * (self.rows_per_unit or 1)

    def coefficient_bits(self, clip: float, noise_multiplier: float) -> int:
        """Return k, ``2**-k`` the grid of coefficients of rows that are clipped
        (``dpcore.exact.grid.coefficient_bits``); there is room for the noise of all rows of a
        unit."""
        return grid.coefficient_bits(
            clip, self.capacity, noise_multiplier * (self.rows_per_unit or 1)
        )

    @property
    def unsure_capacity(self) -> int | None:
        """``capacity`` where there may be more rows, ``None`` where their public number is no
        larger."""
        return None if self.n is not None and self.n <= self.capacity else self.capacity


@dataclass(frozen=True, slots=True)
class Solution:
    """An optimizer's result: a function of released values and public facts.

    Parameters
    ----------
    w : float64 array of the problem's ``w_shape``.
    status : a sentence that says how the run ended.
    details : plain values for the report (steps taken, released counts): what
        ``dpcore.model.details.fault_of_details`` allows, or a note in their place.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import Solution
    >>> Solution(np.zeros(2), "Done: all 10 steps.", {"steps": 10}).status
    'Done: all 10 steps.'
    """

    w: np.ndarray
    status: str
    details: dict[str, Any] = field(default_factory=dict)
