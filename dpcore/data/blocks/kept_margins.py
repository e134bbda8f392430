"""Margins kept between queries, shared by every layout of a block."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from dpcore.data.blocks.table import require_finite, row_factors
from dpcore.exact.compiled import njit
from dpcore.exact.grid import FEATURE_BITS, is_exact_line, round_parameters

if TYPE_CHECKING:
    from dpcore.data.blocks.standardization import Standardization

__all__ = ["KeptMargins", "LinePath", "integer_sums", "truncate_rows"]

_RELATIVE_BITS = 20


class LinePath:
    """What all blocks of a table would each work out of the same public vectors, worked out once.

    A result is remembered for an array and a copy of what it held. Only public values pass
    through: points, directions and step sizes. Blocks may ask from several threads.
    """

    def __init__(self, raw_norm_bound: float) -> None:
        self.raw_norm_bound = raw_norm_bound
        self._rounded: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._line: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], float | None] | None = None
        self._lock = threading.Lock()

    def rounded(self, v: np.ndarray) -> np.ndarray:
        """Return ``v``, or every row of it, on the parameters' grid, read only."""
        with self._lock:
            return self._rounded_once(v)

    def _rounded_once(self, v: np.ndarray) -> np.ndarray:
        for known, held, result in self._rounded:
            if known is v and np.array_equal(held, v):
                return result
        rounded = [round_parameters(w, self.raw_norm_bound) for w in np.atleast_2d(v)]
        result = np.array(rounded).reshape(v.shape)
        result.setflags(write=False)
        fresh = [(v, v.copy(), result), (result, result, result)]
        self._rounded = [*fresh, *self._rounded[:4]]
        return result

    def step(self, start: np.ndarray, direction: np.ndarray, end: np.ndarray) -> float | None:
        """Return the step for which ``end`` is ``start - step * direction``, all on their grids
        and with margins of at most 53 bits in between; ``None`` if there is none."""
        line = (start, direction, end)
        with self._lock:
            known = self._line
            if known is None or not all(a is b for a, b in zip(line, known[0], strict=True)):
                known = self._line = (line, self._find_step(*line))
        return known[1]

    def _find_step(self, start: np.ndarray, direction: np.ndarray, end: np.ndarray) -> float | None:
        j = int(np.argmax(np.abs(direction)))
        if direction[j] == 0.0:
            return None
        step = float((start[j] - end[j]) / direction[j])
        return step if is_exact_line(start, end, direction, step, self.raw_norm_bound) else None


class KeptMargins:
    """A block's margins of the last ``w`` and the last direction; a layout adds ``_product``,
    ``weighted_sum``, ``_take_cells``, the exact sums of its rows' squared grid steps, and, when
    asked, ``_absolute_steps``."""

    def __init__(
        self,
        y: np.ndarray,
        n_features: int,
        squares: np.ndarray,
        path: LinePath,
        row_norm: float,
    ) -> None:
        self.y = y
        self.n_rows = y.shape[0]
        self.n_features = n_features
        self._path = path
        self._norms = {"l2": _upper(np.sqrt(_above(squares.astype(np.float64))))}
        self.factor = row_factors(self._norms["l2"], row_norm)
        self._is_scaled = bool((self.factor != 1.0).any())
        self._standardized: tuple[Standardization, np.ndarray] | None = None
        self._kept: tuple[np.ndarray, np.ndarray] | None = None
        self._direction: tuple[np.ndarray, np.ndarray] | None = None

    def _product(self, v: np.ndarray) -> np.ndarray:
        raise TypeError("a layout of rows defines its own product")

    def _products(self, points: np.ndarray) -> np.ndarray:
        """Return ``_product`` of every row of ``points``, to the bit."""
        return np.array([self._product(v) for v in points])

    def _square_product(self, v: np.ndarray) -> np.ndarray:
        """Return ``sum_j v_j x_j^2`` of every raw row, float64, up to the rounding of a sum."""
        raise TypeError("a layout of rows sums its own squares")

    def _absolute_steps(self) -> np.ndarray:
        """Return each raw row's sum of absolute grid steps, int64."""
        raise TypeError("a layout of rows sums its own steps")

    def row_norms(self, norm: Literal["l1", "l2"]) -> np.ndarray:
        if norm == "l1" and norm not in self._norms:
            self._norms["l1"] = _upper(self._absolute_steps().astype(np.float64))
        return self._norms[norm]

    def standardized_norms(self, standardization: Standardization) -> np.ndarray:
        known = self._standardized
        if known is None or known[0] is not standardization:
            norms = standardization.norms_up(self._product, self._square_product)
            known = self._standardized = (standardization, _read_only(norms))
        return known[1]

    def _raw_rows(self) -> np.ndarray:
        """Return a float64 copy of the raw rows, of shape (n_rows, n_features)."""
        raise TypeError("a layout of rows unfolds its own")

    def rows(self) -> np.ndarray:
        rows = self._raw_rows()
        return rows * self.factor[:, np.newaxis] if self._is_scaled else rows

    def take(self, places: np.ndarray) -> Self:
        part = copy.copy(self)
        part.y, part.n_rows = self.y[places], places.size
        part._norms = {norm: values[places] for norm, values in self._norms.items()}
        part.factor = self.factor[places]
        part._is_scaled = bool((part.factor != 1.0).any())
        part._kept = part._direction = part._standardized = None
        part._take_cells(places)
        return part

    def _take_cells(self, places: np.ndarray) -> None:
        """Keep the cells of these rows alone; the arrays shared with the whole block stay."""
        raise TypeError("a layout of rows takes its own cells")

    def margins(self, w: np.ndarray) -> np.ndarray:
        raw = self._raw_margins(self._path.rounded(w))
        return _read_only(raw * self.factor) if self._is_scaled else raw

    def margins_at(self, points: np.ndarray) -> np.ndarray:
        raw = self._products(self._path.rounded(points))
        return raw * self.factor if self._is_scaled else raw

    def line(self, w: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, direction = self._raw_margins(self._path.rounded(w)), self._path.rounded(direction)
        known = self._direction
        if known is None or not _same(known[0], direction):
            known = self._direction = (direction, _read_only(self._product(direction)))
        return z, known[1]

    def _raw_margins(self, w: np.ndarray) -> np.ndarray:
        # Looked at once: whoever else may set it, what is returned belongs to this w.
        known = self._kept
        if known is None or not _same(known[0], w):
            along = self._along_line(w)
            known = self._kept = (w, _read_only(self._product(w) if along is None else along))
        return known[1]

    def _along_line(self, w: np.ndarray) -> np.ndarray | None:
        """Return the raw margins of ``w`` from those kept, with the bits of a fresh product, so
        that a row's margin never depends on the path; ``None`` if they do not follow exactly."""
        at, along = self._kept, self._direction
        if at is None or along is None:
            return None
        (kept, z), (direction, z_direction) = at, along
        step = self._path.step(kept, direction, w)
        if step is None:
            return None
        out = np.empty(self.n_rows)
        margins_along(z, z_direction, step, out)
        return out


@njit(cache=True, error_model="numpy", nogil=True)
def margins_along(z: np.ndarray, z_direction: np.ndarray, step: float, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i] = z[i] - step * z_direction[i]


def _read_only(margins: np.ndarray) -> np.ndarray:
    margins.setflags(write=False)
    return margins


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or np.array_equal(a, b)


def _above(values: np.ndarray) -> np.ndarray:
    """Return the next float64 above each value that is not zero: undoes one rounding to nearest."""
    return np.where(values == 0.0, 0.0, np.nextafter(values, np.inf))


def _upper(norms_in_steps: np.ndarray) -> np.ndarray:
    return np.ldexp(_above(norms_in_steps), -FEATURE_BITS)


def truncate_rows(
    values: np.ndarray, row_of: np.ndarray | None, n_rows: int, raw_norm_bound: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``values`` truncated towards zero to the feature grid, and each row's squares' sum.

    ``values`` : dense (n_rows, n_features), or the data of a CSR block with ``row_of`` naming each
    value's row. The sums are int64 of shape (n_rows,), of squared grid steps.
    Every row's integers satisfy ``sum of squares <= (raw_norm_bound * 2**16)**2``: a row that does
    not is shrunk and truncated again. Raises DataError for a value that is not finite.
    """
    require_finite(values)

    limit = int(np.floor(np.float64(raw_norm_bound) ** 2 * 2.0 ** (2 * FEATURE_BITS)))
    shrink = _first_shrink(values, row_of, n_rows, raw_norm_bound)
    while True:
        spread = shrink[:, None] if row_of is None else shrink[row_of]
        steps = np.trunc(np.ldexp(values * spread, FEATURE_BITS)).astype(np.int64)
        squares = integer_sums(steps * steps, row_of, n_rows)
        over = squares > limit
        if not over.any():
            break
        shrink = np.where(over, shrink * (1 - 2.0**-16), shrink)
    return np.ldexp(steps.astype(np.float64), -FEATURE_BITS), squares


def _first_shrink(
    values: np.ndarray, row_of: np.ndarray | None, n_rows: int, raw_norm_bound: float
) -> np.ndarray:
    """Return the factor in (0, 1] that brings each row's norm to about the bound.

    Norms are summed in integers relative to the row's largest entry, so that no square overflows
    and dense and sparse rows get the same factor to the bit.
    """
    size = np.abs(values)
    if row_of is None:
        largest = size.max(axis=1, initial=0.0)
    else:
        largest = np.zeros(n_rows)
        np.maximum.at(largest, row_of, size)
    exponent = np.clip(np.frexp(largest)[1], -64, None)
    spread = exponent[:, None] if row_of is None else exponent[row_of]
    steps = np.trunc(np.ldexp(size, _RELATIVE_BITS - spread)).astype(np.int64)
    norms = np.sqrt(integer_sums(steps * steps, row_of, n_rows).astype(np.float64))
    target = np.ldexp(raw_norm_bound, _RELATIVE_BITS - exponent)
    return np.where(norms > target, target / np.where(norms > target, norms, 1.0), 1.0)


def integer_sums(steps: np.ndarray, row_of: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return each row's sum of int64 ``steps``, dense or with ``row_of`` naming each one's row."""
    if row_of is None:
        return steps.sum(axis=1)
    sums = np.zeros(n_rows, dtype=np.int64)
    np.add.at(sums, row_of, steps)
    return sums
