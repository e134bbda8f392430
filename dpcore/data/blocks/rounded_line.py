"""Public vectors on their grids, worked out once for all blocks of a table."""

import threading

import numpy as np

from dpcore.exact.grid import is_exact_line, round_parameters

__all__ = ["RoundedLine"]


class RoundedLine:
    """The points and lines that all blocks of a table are asked for, on their grids.

    A result is remembered for the bytes of an array and its shape: each query has a copy of its
    own. It is what ``round_parameters`` says of these bytes, and never what was asked before: a
    point that is rounded already can be rounded to a coarser grid, and then all blocks do so. Only
    public values pass through: points, directions and step sizes. Blocks may ask from several
    threads.
    """

    def __init__(self, raw_norm_bound: float) -> None:
        self.raw_norm_bound = raw_norm_bound
        self._rounded: list[tuple[tuple[object, ...], np.ndarray]] = []
        self._line: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], float | None] | None = None
        self._lock = threading.Lock()

    def rounded(self, v: np.ndarray, *, each: bool = False) -> np.ndarray:
        """Return ``v`` on the parameters' grid, read only; with ``each`` every entry of its first
        axis on a grid of its own."""
        with self._lock:
            return self._rounded_once(v, each)

    def _rounded_once(self, v: np.ndarray, each: bool) -> np.ndarray:
        asked = (v.tobytes(), v.shape, v.dtype, each)
        for known, result in self._rounded:
            if known == asked:
                return result
        result = np.array(
            [round_parameters(w, self.raw_norm_bound) for w in (v if each else v[np.newaxis])]
        ).reshape(v.shape)
        result.setflags(write=False)
        self._rounded = [(asked, result), *self._rounded[:5]]
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
        if not start.shape == direction.shape == end.shape:
            return None
        j = int(np.argmax(np.abs(direction)))
        if direction.flat[j] == 0.0:
            return None
        step = float((start.flat[j] - end.flat[j]) / direction.flat[j])
        return step if is_exact_line(start, end, direction, step, self.raw_norm_bound) else None
