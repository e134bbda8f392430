"""The rules that users and server agree on beforehand: public, the same in every round."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import replacing
from dpcore.plugin import Gaussian, InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import (
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    Sensitivity,
    Table,
)
from dpcore_a_ddp.fixed_size_sample import FixedSizeSample
from dpcore_a_ddp.pools.rule_checks import check_rules, share_of_group
from dpcore_a_ddp.pools.sum_rules import honest_of, what_is_seen
from dpcore_a_ddp.record_gradient import RecordGradientSum
from dpcore_a_ddp.skellam_noise.distribution import draw_skellam, holds_variance
from dpcore_a_ddp.skellam_noise.share import SkellamShare
from dpcore_a_ddp.unamplified import Unamplified
from dpcore_accounting.samples import PoissonSample

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Loss
    from dpcore.plugin.parts import DpEvent, NoiseSource, Query, SampledQuery
    from dpcore_accounting.best import Schedule

__all__ = ["GradientRounds"]

_SCALE_BITS = {"local": 21, "secure-aggregation": 14}
"""The noise, of a message or of the sum, is between half and all of this power of two in grid
steps: truncation is small against it."""

_TAIL = 45.0  # a normal deviate beyond has a probability below 2^-1400


@dataclass(frozen=True, kw_only=True)
class GradientRounds:
    """A round of noisy gradients, the same from the first to the last. These are ``RoundRules``
    that may not be changed on the way, since the composition of sampled releases is proved for a
    schedule that is fixed beforehand.

    Parameters
    ----------
    loss : its registered name.
    n_features, row_norm, raw_norm_bound : public facts of the rows (``Problem``).
    relation : ``replace-one`` or ``replace-special``, of one row of one user. A user's number of
        rows is public under both.
    clip : bound of the l2 norm of one record's gradient.
    noise_multiplier : sigma over the sensitivity ``H``, which is ``2 clip`` under replace-one and
        ``clip`` under replace-special. 0 for no noise at all, which no ``UserSession`` agrees to.
    sampling : ``one-row`` (of the user's, uniform), ``poisson`` (each row with probability
        ``rate``) or ``pass`` (row after row, in the order in which they are stored).
    rate : of ``poisson``, in (0, 1]; else ``None``.
    amplified : whether a sampled round is charged as such; if not, as if each record were in it.
    trust : ``local``: each user adds all of the noise, and whoever gets a message may read it.
        ``secure-aggregation``: each adds a share, and only a sum of ``threshold`` users or more is
        ever opened.
    threshold, colluding : of secure aggregation: users without whom no sum is opened, and how many
        of them may give away what they know; each share is that of one of
        ``threshold - colluding``, and that noise is charged, whoever else takes part.
    listed, neighbours : of secure aggregation by messages: the users listed, who take part or not,
        and how many of them each draws to hold its shares, 0 for all others. With ``listed`` 0 the
        protocol is left open; see ``sum_rules``.
    planned : rounds for which each user's filter fixes its order, or 0.
    groups, shares_of : of smaller budgets: pairs of the least epsilon and the share of the ``clip``
        or of the ``rate``, both rising. ``share`` : of one user's own rules, its share of the clip.
    as_published : noise for the sensitivity ``clip``, charged as if that were right, and a round
        joined before its delta is looked at: not private.
    left_late : set by a pool, as published, once a user joined a round that its budget did not
        hold.
    masked, apart : set by a pool whose users mask their messages, or are processes of their own.
    """

    loss: str
    n_features: int
    row_norm: float
    raw_norm_bound: float
    relation: str
    clip: float
    noise_multiplier: float
    sampling: str = "one-row"
    rate: float | None = None
    amplified: bool = True
    trust: str = "local"
    threshold: int = 0
    colluding: int = 0
    listed: int = 0
    neighbours: int = 0
    planned: int = 0
    groups: tuple[tuple[float, float], ...] = ()
    shares_of: str = "clip"
    share: float = 1.0
    as_published: bool = False
    left_late: bool = False
    masked: bool = False
    apart: bool = False

    def __post_init__(self) -> None:
        check_rules(self)

    @classmethod
    def agreed(cls, rules: GradientRounds) -> GradientRounds:
        """Return a copy, checked anew, that whoever made the rules cannot alter afterwards, without
        what a pool alone knows of its users: that they are processes, mask, or leave late.

        Raises InvalidInputError unless these are the rules of this class, to the letter: what
        another one draws and charges is not known here.
        """
        if type(rules) is not cls:
            kind = type(rules).__name__
            raise InvalidInputError(f"Expected dpcore's own GradientRounds, not {kind}.")
        if rules.share != 1.0:
            raise InvalidInputError("Expected the rules of a run, not of a user of a share of it.")
        return dataclasses.replace(rules, left_late=False, masked=False, apart=False)

    def schedule(self, n_rows: int) -> Schedule:
        """Return the planned rounds of a user of so many rows, by the noise multiplier."""
        alone = dataclasses.replace(self, groups=())
        return lambda m: {
            dataclasses.replace(alone, noise_multiplier=m).event(n_rows): self.planned
        }

    def with_share(self, share: float) -> GradientRounds:
        """Return the rules as a user of that share carries them out. With a share of the clip, a
        power of two, the noise is the same to the bit, and so are the steps of the grid."""
        alone = dataclasses.replace(self, groups=())
        if share == 1.0:
            return alone
        if self.shares_of == "rate":
            assert self.rate is not None
            return dataclasses.replace(alone, rate=self.rate * share)
        clip, multiplier = self.clip * share, self.noise_multiplier / share
        return dataclasses.replace(alone, clip=clip, noise_multiplier=multiplier, share=share)

    def of_budget(self, epsilon: float) -> GradientRounds:
        """Return the rules as a user of that budget carries them out."""
        return self.with_share(share_of_group(self.groups, epsilon)) if self.groups else self

    @property
    def is_secure(self) -> bool:
        """Whether the server gets sums alone."""
        return self.trust == "secure-aggregation"

    @property
    def neighbors(self) -> NeighboringRelation:
        return NeighboringRelation(self.relation)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of one round of one user, by the record that differs."""
        return Sensitivity("l2", self._bound, self.neighbors, grid_bits=self.grid_bits)

    @property
    def _bound(self) -> float:
        return self.clip * (1 if self.as_published else self.neighbors.rows_changed)

    @property
    def sigma(self) -> float:
        """The noise of a message, or of a sum under secure aggregation; for reports."""
        return self._bound * self.noise_multiplier

    @property
    def grid_bits(self) -> int:
        """Messages are multiples of ``2**-grid_bits``: a function of clip and noise, so public."""
        finest = Table.BLOCK_SUM_BITS + 1 - max(0, math.frexp(self.clip / self.share)[1])
        return min(finest, _SCALE_BITS[self.trust] - math.frexp(self.sigma or self.clip)[1])

    @property
    def mechanism(self) -> Gaussian | SkellamShare:
        if self.is_secure:
            return SkellamShare(self.noise_multiplier, honest_of(self), self.n_features)
        return Gaussian(self.noise_multiplier)

    def draw(self, noise: NoiseSource, shape: tuple[int, ...], threads: int = 1) -> np.ndarray:
        """Return the noise of messages, or their shares of it: int64 of that shape."""
        mechanism = self.mechanism
        if isinstance(mechanism, SkellamShare):
            return draw_skellam(noise, mechanism.variance(self.sensitivity), shape, threads)
        return noise.gaussian(mechanism.scale(self.sensitivity), shape, threads)

    def draw_sum(self, noise: NoiseSource, users: int) -> np.ndarray:
        """Return the sum of so many users' shares, drawn as one: int64 of shape (n_features,). It
        has the distribution of the sum (Skellam numbers add up), and costs one share."""
        mechanism = self.mechanism
        assert isinstance(mechanism, SkellamShare)
        variance = users * mechanism.variance(self.sensitivity)
        if holds_variance(variance):
            return draw_skellam(noise, variance, self.n_features)
        return self.draw(noise, (users, self.n_features)).sum(axis=0)

    @property
    def server_sees(self) -> str:
        if not self.is_secure:
            return (
                "each user adds all of the noise, and the server sees every noisy gradient and "
                "who sent it"
            )
        return what_is_seen(self)

    def why_not_private(self, relation: NeighboringRelation) -> tuple[str, ...]:
        reasons = []
        if self.neighbors is not relation:
            reasons.append(f"the users' noise was for {self.relation}")
        if self.noise_multiplier == 0:
            reasons.append("the users added no noise")
        if self.as_published and self.neighbors.rows_changed > 1:
            reasons.append("the noise was for the clip alone")
        if self.left_late:
            reasons.append("users left a round late")
        return tuple(reasons)

    def largest_message(self, n_rows: int) -> float:
        draws = n_rows if self.rate is not None else 1
        return math.ldexp(self.clip * draws + _TAIL * self.sigma, self.grid_bits) + 1.0

    @property
    def coin_weight(self) -> int:
        """The odds with which ``PoissonSample`` takes a row, out of 2^64."""
        return int(Fraction(self.rate or 0.0) * 2**64)

    def problem(self, loss: Loss, n_rows: int) -> Problem:
        """Return the public facts of one user's rows."""
        return Problem(
            loss=loss,
            l2=0.0,
            n_features=self.n_features,
            row_norm=self.row_norm,
            raw_norm_bound=self.raw_norm_bound,
            relation=self.neighbors,
            n=n_rows,
            capacity=2**20,
        )

    def gradient(self, loss: Loss, w: np.ndarray, n_rows: int) -> RecordGradientSum:
        """Return the question of a round over all of a user's rows."""
        return RecordGradientSum(self.problem(loss, n_rows), w, self.clip, self.grid_bits)

    def query(self, loss: Loss, w: np.ndarray, n_rows: int) -> Query | SampledQuery:
        """Return the question of a round over a sample of a user's rows, or over a row alone."""
        return self.sample(self.gradient(loss, w, n_rows), n_rows)

    def sample(self, gradient: RecordGradientSum, n_rows: int) -> Any:
        if self.sampling == "pass":
            return gradient
        if self.sampling == "poisson":
            assert self.rate is not None
            sampled: Any = PoissonSample(gradient, self.rate)
        else:
            sampled = FixedSizeSample(gradient, 1, n_rows)
        return sampled if self.amplified else Unamplified(sampled)

    def event(self, n_rows: int) -> DpEvent:
        """Return what a round costs a user of so many rows; of a pass, what a visit costs a row."""
        event = self.mechanism.event(self.sensitivity)
        if self.sampling == "pass" or not self.amplified:
            return event
        if self.rate is not None:
            return PoissonSampledDpEvent(self.rate, event, self.neighbors)
        return SampledWithoutReplacementDpEvent(n_rows, 1, event, self.neighbors)

    def expected_draws(self, n_rows: int) -> float:
        """Return how many records a user's message is expected to hold: the server's divisor."""
        return 1.0 if self.rate is None else self.rate * n_rows

    def to_dict(self) -> dict[str, Any]:
        """Return what is agreed on, as JSON-able data."""
        agreed = dataclasses.asdict(self)
        del agreed["left_late"], agreed["masked"], agreed["apart"]
        if not self.listed:  # The digest of rules of earlier versions stays as it was.
            del agreed["listed"], agreed["neighbours"]
        if not self.groups:
            del agreed["groups"], agreed["shares_of"]
        usual = ("planned", 0), ("share", 1.0)
        agreed = dict(pair for pair in agreed.items() if pair not in usual)
        return agreed

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GradientRounds:
        """Return the rules that a server sent; InvalidInputError if they are none."""
        no_rules = InvalidInputError("These are not the rules of a run of rounds.")
        with replacing(TypeError, ValueError, AttributeError, by=lambda _: no_rules):
            return cls(**data)

    @property
    def digest(self) -> str:
        """SHA-256 of the rules: what a user's ledger was opened for."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()
