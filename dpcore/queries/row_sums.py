"""Sums of functions of one row: anyone gives the function, the core the loop, the clip and the sum.

Whatever the function returns, a row contributes a vector of norm at most ``clip``. So the sums move
by at most ``clip`` under add-or-remove-one and replace-special, and by twice that under replace-one
(Dwork, McSherry, Nissim & Smith 2006, of a sum of bounded vectors). No author states a bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.data.weighted_labels import PAIRS, plain_labels
from dpcore.errors import InvalidInputError
from dpcore.exact.grid import FEATURE_BITS
from dpcore.privacy.immutable import constant, sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Norm, Sensitivity, require_norm
from dpcore.queries.clipping import add_clipped, clip_rows
from dpcore.queries.gradient import ClippedGradients
from dpcore.row_functions.row_function import RowFunction

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block, Coefficients
    from dpcore.protocols.problem import Problem

__all__ = ["CoefficientSum", "ContributionSum"]

_product = np.errstate(all="ignore")(np.multiply)
_CELLS = 2**20  # So many features are unfolded at a time,
_CACHED = 2**17  # and so many numbers of rows written, which a processor's cache holds.


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class CoefficientSum(ClippedGradients):
    """The sum ``sum_i clip(c_i x_i)``, with c_i from a function of the row's margin ``x_i.w`` and
    label.

    It is a gradient of somebody's own. A row with a weight contributes its weight times as much
    before the clip.

    Sensitivity: ``clip`` times the rows in which neighbours differ, by the argument at the head of
    this file. In integers it holds as that of ClippedGradientSum does, whose clip this is.

    Parameters
    ----------
    problem : public facts, of one margin.
    w : float64 of shape (n_features,), a released value; rounded to the parameters' grid.
    function : of ``RowFunction.coefficient``.
    clip : the bound of a row's part, in ``norm``.
    parameters : public or released numbers that the function is given.
    norm : ``"l2"`` (Gaussian noise), ``"l1"`` (Laplace noise) or ``"linf"`` (each entry's bound).
    noise_multiplier : the noise the answer will get, which bounds how fine the grid may be.

    Raises InvalidInputError for a problem of several margins, or a function of another form or of
    more parameters than there are, KernelError for a function that cannot be compiled.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore.plugin.parts import CoefficientSum, RowFunction
    >>> def slope(z, y, parameters):
    ...     return -y if y * z < 1.0 else 0.0
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> query = CoefficientSum(problem, np.zeros(2), RowFunction.coefficient(slope), clip=0.5)
    >>> query.sensitivity(add).bound
    0.5
    """

    problem: Problem
    w: np.ndarray
    function: RowFunction
    clip: float
    parameters: Any = ()
    norm: Norm = "l2"
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    form: ClassVar[str] = "coefficient"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.problem.n_margins > 1:
            raise InvalidInputError(
                "A coefficient is a function of one margin, and the problem has several: ask a "
                "ContributionSum, or a ClippedGradientSum of a loss."
            )
        object.__setattr__(self, "parameters", _held_parameters(self))
        self._take_grids()

    def numbers(self, block: Block) -> Coefficients:
        """Return what makes of the rows' margins at ``w`` the function's numbers, times the rows'
        weights: not clipped, not all of them finite."""
        y, weights = _labels_and_weights(block)

        def numbers(z: np.ndarray, rows: slice) -> np.ndarray:
            c = np.empty(z.shape)
            self.function.fill(z, y[rows], self.parameters, c)
            return c if weights is None else _product(c, weights[rows])

        return numbers

    def coefficients(self, block: Block) -> Coefficients:
        numbers, factor, norms = self.numbers(block), block.factor, block.row_norms(self.norm)

        def clipped(z: np.ndarray, rows: slice) -> np.ndarray:
            c = numbers(z, rows)
            clip_rows(c, factor[rows], norms[rows], self.clip, 2.0**self.bits, self.norm)
            return c

        return clipped

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity(self.norm, bound, relation, grid_bits=FEATURE_BITS + self.bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ContributionSum:
    """The sum ``sum_i clip(v_i)``, with v_i a short vector from a function of a row's features and
    label.

    It is a histogram, moments, or scores. A row with a weight contributes its weight times as much
    before the clip; numbers that are not finite count as 0.

    Sensitivity: ``clip`` times the rows in which neighbours differ, by the argument at the head of
    this file. In integers: the vector is truncated after the clip, so that no entry grows.

    Parameters
    ----------
    problem : public facts.
    function : of ``RowFunction.contribution``. ``width`` : the numbers that it writes, 1 or more.
    clip : the bound of a row's part, in ``norm``.
    parameters : public or released numbers that the function is given.
    norm : ``"l2"`` (Gaussian noise), ``"l1"`` (Laplace noise) or ``"linf"``: each number is clipped
        to [-clip, clip] by itself.
    noise_multiplier : the noise the answer will get, which bounds how fine the grid may be.
    grid_bits : the answer is a multiple of ``2**-grid_bits``, to which numbers are truncated after
        the clip: 0 for counts, with noise that is stated on single grid steps. ``None``: as fine as
        the sum allows.

    Raises InvalidInputError for a function of another form, or that names a place beyond ``width``,
    the features or the parameters, and a grid that is finer than that; KernelError where it cannot
    be compiled.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore.plugin.parts import ContributionSum, RowFunction
    >>> def tenths(x, y, parameters, out):
    ...     out[int(min(9.0, 10.0 * x[0]))] = 1.0
    >>> swap = NeighboringRelation.REPLACE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=swap)
    >>> query = ContributionSum(problem, RowFunction.contribution(tenths), width=10, clip=1.0)
    >>> query.sensitivity(swap).bound
    2.0
    """

    problem: Problem
    function: RowFunction
    width: int
    clip: float
    parameters: Any = ()
    norm: Norm = "l2"
    noise_multiplier: float = 1.0
    grid_bits: int | None = None
    bits: int = field(init=False)

    form: ClassVar[str] = "contribution"
    kind: ClassVar[str] = "contribution"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if type(self.width) is not int or not 1 <= self.width <= _CELLS:
            raise InvalidInputError(f"Expected width={self.width!r} to be from 1 to {_CELLS:,}.")
        sizes = {"x": self.problem.n_features, "out": self.width}
        object.__setattr__(self, "parameters", _held_parameters(self, **sizes))
        object.__setattr__(self, "clip", float(self.clip))
        bits = self.problem.coefficient_bits(self.clip, self.noise_multiplier)
        finest, asked = FEATURE_BITS + bits, self.grid_bits
        if asked is not None and not (type(asked) is int and 0 <= asked <= finest):
            raise InvalidInputError(f"Expected grid_bits={asked!r} to be from 0 to {finest}.")
        object.__setattr__(self, "bits", finest if asked is None else asked)

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.unsure_capacity

    def start(self) -> np.ndarray:
        return np.zeros(self.width, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        total = self.start()
        y, weights = _labels_and_weights(block)
        each, whole = (self.clip, np.inf) if self.norm == "linf" else (np.inf, self.clip)
        # A function that names its argument and no more of it is given none of a row's features;
        # Python reads some letters beyond ASCII as x too.
        width = (
            block.n_features if len(re.findall(r"\bx\b|[^\0-\x7f]", self.function.text)) > 1 else 0
        )
        step, few = max(1, _CELLS // max(1, width)), max(1, _CACHED // self.width)
        for begin in range(0, max(block.n_rows, 1), step):
            rows = np.arange(begin, min(begin + step, block.n_rows))
            part = block if step >= block.n_rows else block.take(rows)
            # Of coded rows they are a part of a wider array.
            features = np.ascontiguousarray(part.rows()) if width else np.empty((len(rows), 0))
            for first in range(begin, begin + max(len(rows), 1), few):
                x = features[first - begin : first - begin + few]
                some, out = slice(first, first + len(x)), np.empty((len(x), self.width))
                self.function.fill(x, y[some], self.parameters, out)
                shares, is_l1 = np.empty(len(x)), self.norm == "l1"
                with np.errstate(all="ignore"):
                    if weights is not None:
                        out *= weights[some, np.newaxis]
                    add_clipped(out, each, whole, 2.0**self.bits, is_l1, shares, total)
        return total

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity(self.norm, bound, relation, grid_bits=self.bits)


def _held_parameters(query: CoefficientSum | ContributionSum, **sizes: int) -> np.ndarray:
    """Return a query's parameters, which nobody can write to; refuse a function of another form, or
    of places beyond the arrays' ``sizes``, and a norm that there is not."""
    require_norm(query.norm)
    if type(query.function) is not RowFunction or query.function.form != query.form:
        raise InvalidInputError(
            f"Expected {query.form}(function), not {type(query.function).__name__}."
        )
    query.function.require_compiled()
    parameters = constant(np.ravel(query.parameters))
    if not np.isfinite(parameters).all():
        raise InvalidInputError("Expected parameters of a function of a row to be finite.")
    query.function.require_places(parameters=parameters.size, **sizes)
    return parameters


def _labels_and_weights(block: Block) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows' labels, in C order, and their weights if they have some."""
    weights = block.y["weight"] if block.y.dtype == PAIRS else None
    return np.ascontiguousarray(plain_labels(block.y)), weights
