"""A public linear map of rows: columns centred and scaled, in whole numbers, so that sums over rows
are mapped exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot
from dpcore.plugin.parts import constant, sealed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SCALE_BITS", "Standardization"]

SCALE_BITS = 6
"""Scales and shifts are multiples of 2^-6: what is mapped is a linear map, exactly, whatever they
are, so there is nothing to be gained from finer ones."""

_LARGEST = 2**14
_SLACK = 2.0**-28
"""Above the relative rounding of a sum of up to 2^22 terms, thrice."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Standardization:
    """phi_j = (scales_j x_j - shifts_j x_c) 2^-6 for every column j, with c the ``constant`` one.

    Public: it holds released or public values only. A constant column of ones makes it the usual
    centring; of another column the map is as linear and its bounds hold alike.

    Parameters
    ----------
    scales : int64 of shape (n_features,), from 2^6 to 2^14 (a scale of 1 to 256), or 0: the column
        is left out, and ``w`` is 0 there.
    shifts : int64 of shape (n_features,), of size 2^14 at most; 0 for the constant column itself,
        and everywhere where there is none.
    constant : the column that is 1 in every row, or ``None``.

    Raises InvalidInputError for arrays that are none of these.
    """

    scales: np.ndarray
    shifts: np.ndarray
    constant: int | None

    def __post_init__(self) -> None:
        arrays = (self.scales, self.shifts)
        if any(a.dtype != np.int64 or a.ndim != 1 for a in arrays) or (
            self.scales.shape != self.shifts.shape
        ):
            raise InvalidInputError("Expected scales and shifts as int64 vectors of one length.")
        used = self.scales[self.scales != 0]
        if (used < 2**SCALE_BITS).any() or (used > _LARGEST).any():
            raise InvalidInputError("Expected scales from 1 to 256, or 0.")
        if ((self.shifts > _LARGEST) | (self.shifts < -_LARGEST)).any():
            raise InvalidInputError("Expected shifts of size 256 at most.")
        if self.constant is not None and not 0 <= self.constant < self.scales.size:
            raise InvalidInputError("Expected the constant column to be one of the columns.")
        if self.shifts.any() if self.constant is None else self.shifts[self.constant]:
            raise InvalidInputError("Expected no shift of the constant column, or without one.")
        # Copies: a block keeps the norms under a map, so the map must not change.
        for name in ("scales", "shifts"):
            object.__setattr__(self, name, constant(getattr(self, name), np.int64))

    @property
    def key(self) -> tuple[bytes, bytes, int | None]:
        """All that the map depends on: maps of one key are one map."""
        return self.scales.tobytes(), self.shifts.tobytes(), self.constant

    @property
    def is_selection(self) -> bool:
        """Whether every column is taken as it is or left out."""
        return not self.shifts.any() and {*self.scales.tolist()} <= {0, 2**SCALE_BITS}

    @classmethod
    def nearest(
        cls, scales: np.ndarray, means: np.ndarray, constant: int | None
    ) -> Standardization:
        """Return the standardisation by ``scales`` after ``means`` are taken off, about: held to
        what it can be. Both are finite float64 of shape (n_features,); a scale of 0 leaves a column
        out."""
        limits = 2**SCALE_BITS, _LARGEST
        whole = np.clip(np.rint(np.ldexp(scales, SCALE_BITS)), *limits).astype(np.int64)
        whole[scales == 0] = 0
        shifts = np.clip(np.rint(whole * means), -_LARGEST, _LARGEST).astype(np.int64)
        if constant is None:
            shifts[:] = 0
        else:
            shifts[constant] = 0
        return cls(whole, shifts, constant)

    def map_sums(self, sums: np.ndarray) -> np.ndarray:
        """Return the standardised rows' sums from the rows' own, int64 modulo 2^64 of shape
        (..., n_features), in steps 2^6 times finer: an integer map, which keeps what is equal
        modulo 2^64 so."""
        mapped: np.ndarray = self.scales * sums
        if self.constant is not None:
            mapped -= self.shifts * sums[..., self.constant : self.constant + 1]
        return mapped

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """Return the ``w`` with ``x.w = phi.v`` for every row, up to rounding: float64 of the shape
        of ``v``, (..., n_features)."""
        w: np.ndarray = np.ldexp(self.scales * v, -SCALE_BITS)
        if self.constant is not None:
            w[..., self.constant] -= np.ldexp(ordered_dot(v, self.shifts), -SCALE_BITS)
        return w

    @property
    def squared_stretch(self) -> float:
        """A bound of ``||pull_back(v)||^2 / ||v||^2``: the largest scale's square, and of the
        constant column, by Cauchy and Schwarz, those of its scale and of all shifts."""
        square = int(np.square(self.scales).max())
        if self.constant is not None:
            square += int(self.scales[self.constant]) ** 2 + int(np.square(self.shifts).sum())
        return math.ldexp(float(square), -2 * SCALE_BITS)

    def map_gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in ``v`` of a function of ``w`` whose gradient is ``g``: float64 of
        its shape, (..., n_features)."""
        mapped: np.ndarray = np.ldexp(self.scales * g, -SCALE_BITS)
        if self.constant is not None:
            constant = g[..., self.constant : self.constant + 1]
            mapped -= np.ldexp(self.shifts * constant, -SCALE_BITS)
        return mapped

    def require_columns(self, n_features: int) -> None:
        """Raise InvalidInputError unless the map is of rows of so many features. A sum would take a
        map for a single column for every column, and a norm would take it for the first alone."""
        if not self.scales.shape == self.shifts.shape == (n_features,):
            raise InvalidInputError(f"Expected a map of {n_features} columns.")

    def norms_up(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        square_product: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Return an upper bound of ``||phi||`` for every row, float64.

        ``product(v)`` is ``sum_j v_j x_j`` of every row and ``square_product(v)``
        ``sum_j v_j x_j^2``, up to the rounding of such sums. ||phi||^2 is A - 2 x_c B + x_c^2 C;
        each of its sums errs by a share of sums of sizes, which are A + x_c^2 C at most, twice.
        """
        a = np.ldexp(self.scales.astype(np.float64), -SCALE_BITS)
        r = np.ldexp(self.shifts.astype(np.float64), -SCALE_BITS)
        square = size = square_product(a * a)
        if self.constant is not None:
            unit = np.zeros(a.size)
            unit[self.constant] = 1.0
            x = product(unit)
            rest = x * x * float(ordered_dot(r, r))
            square = size - 2 * x * product(a * r) + rest + _SLACK * (size + rest)
        norms: np.ndarray = np.sqrt(np.maximum(square, 0.0)) * (1 + _SLACK)
        return norms
