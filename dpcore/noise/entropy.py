"""Random words: from the operating system, or, for tests and figures, from a seed."""

import hashlib
import os
import ssl
import threading
from typing import Any, NoReturn, Protocol

import numpy as np

from dpcore.errors import InvalidInputError

__all__ = ["Entropy", "SeededEntropy", "SystemEntropy", "Unshareable"]

_LARGEST_PLAIN, _PIECE_WORDS = 4096, 1 << 20
_SEED_BYTES, _SEEDED_BLOCK_BYTES = 48, 8192


class Entropy(Protocol):
    """A stream of independent uniform 64-bit words. No word is handed out twice."""

    @property
    def seeded(self) -> bool:
        """Whether the words follow from a seed, so that nothing drawn from them is private."""

    def words(self, n: int) -> np.ndarray:
        """Return the next ``n`` words: a fresh, writable uint64 array of shape (n,)."""


class Unshareable:
    """Refuses to be pickled or copied: a second copy would draw the same noise again."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied: noise is drawn once.")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce__()


class SystemEntropy(Unshareable):
    """Words from ``os.urandom``, taken when they are asked for: none are kept for later, which a
    forked child, whatever forked it, or a copied machine would have too.

    A request larger than ``_LARGEST_PLAIN`` words is stretched by OpenSSL from fresh words of the
    system (``_stretched``), some fifteen times as fast as the system gives them. (The bytes objects
    that both return are freed, not zeroed.) Taking 1 word costs as much as from a buffer did, and
    2,000 words as well.

    ``words`` raises OSError if there is no entropy: ``ssl.SSLError`` is one.
    """

    seeded = False

    def words(self, n: int) -> np.ndarray:
        if n > _LARGEST_PLAIN:
            return _stretched(n)
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64).copy()


def _stretched(n: int) -> np.ndarray:
    """Return words of OpenSSL's generator (NIST SP 800-90A, AES-256 in counter mode), uint64.

    The system seeds it. It notices a fork by the number of the process alone, which a namespace or
    a reused number can make equal, and a copied machine not at all: so each piece begins with a
    seed of its own, which every generator of OpenSSL takes up before it gives a byte.
    """
    words = np.empty(n, dtype=np.uint64)
    for start in range(0, n, _PIECE_WORDS):
        piece = words[start : start + _PIECE_WORDS]
        ssl.RAND_add(os.urandom(_SEED_BYTES), _SEED_BYTES)
        piece[:] = np.frombuffer(ssl.RAND_bytes(piece.nbytes), dtype=np.uint64)
    return words


class SeededEntropy(Unshareable):
    """Words that follow from a seed: SHAKE-256 of the seed and a block counter.

    The same seed gives the same words however they are asked for, on any machine. For tests and for
    reproducing values only.

    Raises InvalidInputError for a negative seed.
    """

    seeded = True

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise InvalidInputError(f"Expected seed={seed!r} >= 0.")
        self._seed = seed
        self._blocks = 0
        self._stream, self._used = b"", 0
        self._lock = threading.Lock()

    def words(self, n: int) -> np.ndarray:
        with self._lock:
            missing = 8 * n - (len(self._stream) - self._used)
            if missing > 0:
                more = [self._next_block() for _ in range(-(-missing // _SEEDED_BLOCK_BYTES))]
                self._stream, self._used = b"".join([self._stream[self._used :], *more]), 0
            drawn = np.frombuffer(self._stream, dtype="<u8", count=n, offset=self._used)
            self._used += 8 * n
            return drawn.astype(np.uint64)

    def _next_block(self) -> bytes:
        text = f"dpcore seed {self._seed} block {self._blocks}"
        self._blocks += 1
        return hashlib.shake_256(text.encode()).digest(_SEEDED_BLOCK_BYTES)
