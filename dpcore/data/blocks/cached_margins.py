"""Blocks whose margins are cached between queries: all of a block but how its rows lie."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcore.data.blocks.truncation import held_squares, l1_norms_up, l2_norms_up, row_factors
from dpcore.errors import InvalidInputError
from dpcore.exact.compiled import njit

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpcore.data.blocks.block import Coefficients, RawRows, RowMap
    from dpcore.data.blocks.rounded_line import RoundedLine
    from dpcore.privacy.sensitivity import Norm

__all__ = ["CachedMargins"]


class CachedMargins:
    """A block that remembers its margins at the last ``w`` and along the last direction.

    A layout adds ``gather``, ``raw_rows``, ``_absolute_steps``, ``_unfolded`` and ``_take_cells``,
    ``n_cells`` where it does not store every feature, and may compute in a way of its own, with the
    same bits, ``_product`` and ``_sum``, those of one vector, ``_fill_four`` and ``_sum_four``,
    those of four side by side, ``_products`` and ``_sums``, those of several, or ``_fresh_sum``,
    both products in one pass. Points of margins are on their grid.

    Parameters
    ----------
    y : labels. ``squares`` : int64, the exact sums of the rows' squared grid steps.
    path : of the table. ``row_norm`` : the l2 norm that factors scale the rows down to.
    """

    units: np.ndarray | None = None
    """Set by the table, where units have several rows."""

    def __init__(
        self,
        y: np.ndarray,
        n_features: int,
        squares: np.ndarray,
        path: RoundedLine,
        row_norm: float,
    ) -> None:
        self.y = y
        self.n_rows: int = y.shape[0]
        self.n_features = n_features
        self._path = path
        norms = l2_norms_up(squares)
        self._norms = {"l2": norms}
        self.factor = row_factors(norms, row_norm)
        self._is_scaled = bool((self.factor != 1.0).any())
        self._forget()

    def _forget(self) -> None:
        """Empty the cache."""
        self._standardized: tuple[tuple[type, Hashable, float], np.ndarray] | None = None
        self._at: tuple[np.ndarray, np.ndarray] | None = None
        self._along: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def n_cells(self) -> int:
        return self.n_rows * self.n_features

    def raw_rows(self) -> RawRows:
        raise TypeError("a layout hands out its own rows")

    def _absolute_steps(self) -> np.ndarray:
        """Return each raw row's sum of absolute grid steps, int64."""
        raise TypeError("a layout sums its own steps")

    def _unfolded(self) -> np.ndarray:
        """Return a float64 copy of the raw rows, of shape (n_rows, n_features)."""
        raise TypeError("a layout unfolds its own rows")

    def _take_cells(self, places: np.ndarray) -> None:
        """Replace the cells by copies of those of these rows; other blocks may share the arrays."""
        raise TypeError("a layout takes its own cells")

    def _product(self, v: np.ndarray) -> np.ndarray:
        """Return the raw margins of ``v``, float64."""
        return _margins(self.raw_rows(), self.n_rows, v)

    def _fill_four(self, points: np.ndarray, out: np.ndarray) -> None:
        """Write ``_product`` of each of four points to ``out``, of shape (4, n_rows)."""
        for point, margins in zip(points, out, strict=True):
            margins[:] = self._product(point)

    def _products(self, points: np.ndarray) -> np.ndarray:
        """Return ``_product`` of every row of ``points``, to the bit."""
        out = np.empty((len(points), self.n_rows))
        fours = len(points) - len(points) % 4
        for k in range(0, fours, 4):
            self._fill_four(points[k : k + 4], out[k : k + 4])
        for k in range(fours, len(points)):
            out[k] = self._product(points[k])
        return out

    def _sum(self, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i``, float64 of shape (n_features,)."""
        return self.raw_rows().weighted_sum(0, self.n_rows, c)

    def _sum_four(self, c: np.ndarray) -> np.ndarray:
        """Return ``_sum`` of each of four rows of ``c``."""
        return np.array([self._sum(row) for row in c])

    def _sums(self, c: np.ndarray) -> np.ndarray:
        """Return ``_sum`` of every row of ``c``, to the bit where sums are exact."""
        out = np.empty((len(c), self.n_features))
        fours = len(c) - len(c) % 4
        for k in range(0, fours, 4):
            out[k : k + 4] = self._sum_four(c[k : k + 4])
        for k in range(fours, len(c)):
            out[k] = self._sum(c[k])
        return out

    def _any_product(self, v: np.ndarray) -> np.ndarray:
        return self._product(v) if v.ndim == 1 else self._products(v)

    def _on_grid(self, v: np.ndarray, each: bool = False) -> np.ndarray:
        # Of a longer vector than a row, kernels would read on in the rows behind.
        if v.shape[-1] != self.n_features:
            raise InvalidInputError(f"Expected {self.n_features} numbers, one for each feature.")
        return self._path.rounded(v, each=each)

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        return self._sum(c) if c.ndim == 1 else self._sums(c)

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        return self.raw_rows().mapped(held_squares).weighted_sum(0, self.n_rows, c)

    def sum_at(self, w: np.ndarray, coefficients: Coefficients) -> np.ndarray:
        w = self._on_grid(w)
        raw = self._known_margins(w)
        if raw is None:
            raw, total = self._fresh_sum(w, coefficients)
        else:
            rows = slice(0, self.n_rows)
            total = self.weighted_sum(coefficients(self._scaled(raw, rows), rows))
        self._at = (w, _read_only(raw))
        return total

    def _fresh_sum(
        self, w: np.ndarray, coefficients: Coefficients
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the raw margins of ``w`` and ``sum_at``."""
        raw, rows = self._any_product(w), slice(0, self.n_rows)
        return raw, self.weighted_sum(coefficients(self._scaled(raw, rows), rows))

    def _scaled(self, raw: np.ndarray, rows: slice) -> np.ndarray:
        """Return the margins of these rows from their raw ones, read only."""
        return _read_only(raw * self.factor[rows] if self._is_scaled else raw.view())

    def row_norms(self, norm: Norm) -> np.ndarray:
        if norm == "l1" and norm not in self._norms:
            self._norms["l1"] = l1_norms_up(self._absolute_steps())
        if norm == "linf" and norm not in self._norms:
            self._norms["linf"] = self._largest_entries()
        return self._norms[norm]

    def _largest_entries(self) -> np.ndarray:
        """Return the size of each raw row's largest entry, which is on the feature grid."""
        # A million entries, about, are unfolded at a time.
        n_pieces = 1 + self.n_rows * self.n_features // 2**20
        pieces = map(self.take, np.array_split(np.arange(self.n_rows), n_pieces))
        return np.concatenate([np.abs(piece._unfolded()).max(axis=1) for piece in pieces])

    def standardized_norms(self, standardization: RowMap, least: float = 0.0) -> np.ndarray:
        # By value: a session asks with a copy of its own of each query.
        known, asked = self._standardized, (type(standardization), standardization.key, least)
        if known is None or known[0] != asked:
            product = functools.partial(_margins, self.raw_rows(), self.n_rows)
            norms = standardization.norms_up(
                product,
                # ``sum_j v_j x_j^2`` of every raw row, float64, up to the rounding of a sum.
                lambda v: _margins(self.raw_rows().mapped(np.square), self.n_rows, v),
            )
            norms = np.maximum(norms, least * self.row_norms("l2")) if least else norms
            known = self._standardized = (asked, _read_only(norms))
        return known[1]

    def factors_within(self, row_norm: float, norms: np.ndarray | None = None) -> np.ndarray:
        return row_factors(self._norms["l2"] if norms is None else norms, row_norm)

    def rows(self) -> np.ndarray:
        rows = self._unfolded()
        rows += 0.0  # a zero without a sign, which depends on how the rows beside it are stored
        return rows * self.factor[:, np.newaxis] if self._is_scaled else rows

    def settle(self, keep: Callable[[np.ndarray], np.ndarray]) -> None:
        self._at = self._along = None
        self.y, self.factor = keep(self.y), keep(self.factor)
        self._norms = {norm: keep(values) for norm, values in self._norms.items()}
        if self._standardized is not None:
            self._standardized = self._standardized[0], keep(self._standardized[1])
        self.units = None if self.units is None else keep(self.units)

    def take(self, places: np.ndarray) -> Self:
        vars(part := object.__new__(type(self))).update(vars(self))
        part.y, part.n_rows = self.y[places], places.size
        part._norms = {norm: values[places] for norm, values in self._norms.items()}
        part.factor = self.factor[places]
        part.units = None if self.units is None else self.units[places]
        part._is_scaled = self._is_scaled and bool((part.factor != 1.0).any())
        part._forget()
        part._take_cells(places)
        return part

    def margins(self, w: np.ndarray) -> np.ndarray:
        return self._scaled(self._raw_margins(self._on_grid(w)), slice(0, self.n_rows))

    def margins_at(self, points: np.ndarray) -> np.ndarray:
        points = self._on_grid(points, each=True)
        raw = self._products(points.reshape(-1, self.n_features)).reshape(
            *points.shape[:-1], self.n_rows
        )
        return raw * self.factor if self._is_scaled else raw

    def line(self, w: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, direction = self._raw_margins(self._on_grid(w)), self._on_grid(direction)
        known = self._along
        if known is None or not _same(known[0], direction):
            known = self._along = (direction, _read_only(self._any_product(direction)))
        return z, known[1]

    def _raw_margins(self, w: np.ndarray) -> np.ndarray:
        raw = self._known_margins(w)
        raw = _read_only(self._any_product(w) if raw is None else raw)
        self._at = (w, raw)
        return raw

    def _known_margins(self, w: np.ndarray) -> np.ndarray | None:
        """Return the raw margins of ``w`` if they need no pass over the rows."""
        # Looked at once: whoever else may set it, what is returned belongs to this w.
        known = self._at
        return known[1] if known is not None and _same(known[0], w) else self._moved_to(w)

    def _moved_to(self, w: np.ndarray) -> np.ndarray | None:
        """Return the raw margins of ``w`` from those cached, with the bits of a fresh product, so
        that a row's margin never depends on the path; ``None`` if they do not follow exactly."""
        at, along = self._at, self._along
        if at is None or along is None:
            return None
        (start, z), (direction, z_direction) = at, along
        step = self._path.step(start, direction, w)
        if step is None:
            return None
        out = np.empty(z.shape)
        margins_along(z.reshape(-1), z_direction.reshape(-1), step, out.reshape(-1))
        return out


@njit(cache=True, error_model="numpy", nogil=True)
def margins_along(z: np.ndarray, z_direction: np.ndarray, step: float, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i] = z[i] - step * z_direction[i]


def _margins(rows: RawRows, n_rows: int, v: np.ndarray) -> np.ndarray:
    out = np.empty(n_rows)
    rows.fill_margins(0, n_rows, v, out)
    return out


def _read_only(margins: np.ndarray) -> np.ndarray:
    margins.setflags(write=False)
    return margins


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    # By their bytes, which takes a tenth of the time of a comparison of numbers.
    return a is b or (a.shape == b.shape and a.tobytes() == b.tobytes())
