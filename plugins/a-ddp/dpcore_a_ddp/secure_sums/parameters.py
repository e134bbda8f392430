"""Parameters of secure aggregation: public, agreed on before the first round, signed in each."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass

from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.plain_fields import take_plain
from dpcore_a_ddp.secure_sums.failure import log_held, smallest_set
from dpcore_a_ddp.secure_sums.shamir import MOST_POINTS, MOST_SHARES

__all__ = ["FAILURE_BITS", "SumParameters"]

FAILURE_BITS = 50
_MOST_COMPLETE = 150
"""Up to so many users each is a neighbour of all others: the simple protocol."""
_NEIGHBOURS = 100
_PRESENT = 0.6
"""Of a user's neighbours, those without whom its vector is not opened."""


@dataclass(frozen=True, kw_only=True)
class SumParameters:
    """Who holds shares of whom, and how many it takes.

    Parameters
    ----------
    users : listed identities, n, whether they take part or not.
    colluding : of them, those who may collude with the server, c.
    threshold : users without whom no set is opened, t; also those who have to sign the same set
        before anybody reveals a share. ``2 t > n + c``, so that two signed sets have an honest
        signer in common, who signs one of them only. (Bonawitz et al. 2017 state t > 2n/3 for fewer
        than n/3 colluding users, which implies it.)
    neighbours : users that each user draws to hold its shares, k; n - 1 for all others.
    shares : of k shares, those that give a secret back.
    present : of a user's k neighbours, those that have to be in a set before anybody reveals a
        share of the user's self mask.
    failure_bits : the neighbours that users draw are unfit in one round with a probability of at
        most ``2**-failure_bits``, and 0 where everyone is everyone's neighbour.

    Raises InvalidInputError for parameters with which the protocol proves nothing.

    Examples
    --------
    >>> from dpcore_a_ddp.secure_sums.parameters import SumParameters
    >>> usual = SumParameters.usual(1000, colluding=100, threshold=667)
    >>> usual.neighbours, usual.shares, usual.present, usual.honest
    (100, 51, 60, 463)
    """

    users: int
    colluding: int
    threshold: int
    neighbours: int
    shares: int
    present: int
    failure_bits: int = FAILURE_BITS

    def __post_init__(self) -> None:
        take_plain(self)
        if not 0 <= self.colluding < self.threshold <= self.users:
            raise InvalidInputError("Expected 0 <= colluding < threshold <= users.")
        if not 2 * self.threshold > self.users + self.colluding:
            raise InvalidInputError(
                f"Expected 2 threshold > users + colluding: of {self.users} users and "
                f"{self.colluding} who may collude, a threshold of "
                f"{(self.users + self.colluding) // 2 + 1} or more, not {self.threshold}. With "
                "fewer, a server could open two sums of one round."
            )
        if not (1 <= self.shares <= self.neighbours < self.users and self.failure_bits >= 1):
            raise InvalidInputError("Expected 1 <= shares <= neighbours < users.")
        if self.shares > MOST_SHARES or self.users > MOST_POINTS:
            raise InvalidInputError(
                f"Expected {MOST_SHARES} shares and {MOST_POINTS} users at the most: the sharing "
                "holds no more. Take drawn neighbours in place of all others."
            )
        if not 1 <= self.present <= self.neighbours:
            raise InvalidInputError("Expected 1 <= present <= neighbours.")
        if self._log_held > -(self.failure_bits + 1):
            raise InvalidInputError(
                f"{self.shares} of a user's {self.neighbours} neighbours may collude with a "
                f"probability above 2^-{self.failure_bits + 1}. Take more neighbours or shares."
            )

    @classmethod
    def usual(cls, users: int, colluding: int, threshold: int) -> SumParameters:
        """Return the parameters of a number of users: the simple protocol up to 150 of them."""
        if users - 1 <= _MOST_COMPLETE:
            return cls.complete(users, colluding, threshold)
        return cls.drawn(users, colluding, threshold, _NEIGHBOURS)

    @classmethod
    def drawn(cls, users: int, colluding: int, threshold: int, neighbours: int) -> SumParameters:
        """Return the parameters where each user draws so many neighbours (Bell et al. 2020). More
        than half of them give a secret back, and six in ten have to be in a set with it."""
        return cls(
            users=users,
            colluding=colluding,
            threshold=threshold,
            neighbours=neighbours,
            shares=neighbours // 2 + 1,
            present=math.ceil(_PRESENT * min(neighbours, MOST_POINTS)),
        )

    @classmethod
    def complete(cls, users: int, colluding: int, threshold: int) -> SumParameters:
        """Return the parameters of the simple protocol, in which everyone is everyone's neighbour
        (Bonawitz et al. 2017)."""
        if users < 2 or threshold < 2:
            raise InvalidInputError("Expected two users or more, and a threshold of two or more.")
        return cls(
            users=users,
            colluding=colluding,
            threshold=threshold,
            neighbours=users - 1,
            shares=threshold - 1,
            present=threshold - 1,
        )

    @property
    def is_complete(self) -> bool:
        """Whether everyone is everyone's neighbour, so that nothing is left to a draw."""
        return self.neighbours == self.users - 1

    @property
    def _log_held(self) -> float:
        return log_held(self.users, self.colluding, self.neighbours, self.shares)

    @property
    def honest(self) -> int:
        """The smallest number of honest users in a sum that is opened: those whose noise counts.

        Of all sums of a round, which are of disjoint users. At most t - c; see ``failure``.
        """
        known = (self.users, self.colluding, self.neighbours, self.present)
        alone = smallest_set(*known, self.failure_bits + 1)
        return min(self.threshold - self.colluding, alone)

    @property
    def alpha(self) -> float:
        """``honest`` as a share of the users: no sum of fewer honest users is opened."""
        return self.honest / self.users

    @property
    def failure(self) -> float:
        """The probability with which one round's draws of neighbours are unfit, rounded up."""
        return 0.0 if self.is_complete else 2.0**-self.failure_bits

    @property
    def encoded(self) -> bytes:
        """The parameters as bytes, for what is signed."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True).encode("ascii")
