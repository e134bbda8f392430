"""The limits of what the rules of a run may say: whoever sends others is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore_a_ddp.plain_fields import take_plain
from dpcore_a_ddp.pools.sum_rules import sums_of

__all__ = ["MOST_GROUPS", "SAMPLINGS", "SHARES_OF", "TRUST_MODELS", "check_rules", "share_of_group"]

SAMPLINGS = ("one-row", "poisson", "pass")
TRUST_MODELS = ("local", "secure-aggregation")
SHARES_OF = ("clip", "rate")
MOST_GROUPS = 16
MOST_PLANNED = 10**9

Groups = Sequence[tuple[float, float]]


def check_rules(rules: Any) -> None:
    """Make the fields of rules plain values; InvalidInputError for rules that are none."""
    take_plain(rules)
    known_words = (("sampling", SAMPLINGS), ("trust", TRUST_MODELS), ("shares_of", SHARES_OF))
    for name, known in known_words:
        if getattr(rules, name) not in known:
            value = getattr(rules, name)
            raise InvalidInputError(f"Expected {name}={value!r} to be {' or '.join(known)}.")
    if not NeighboringRelation(rules.relation).size_is_public:
        raise InvalidInputError(
            "Expected replace-one or replace-special: a user's number of rows is public."
        )
    if not (math.isfinite(rules.clip) and 2.0**-20 <= rules.clip <= 2.0**20):
        raise InvalidInputError(f"Expected 2^-20 <= clip={rules.clip!r} <= 2^20.")
    if not (math.isfinite(rules.noise_multiplier) and rules.noise_multiplier >= 0):
        raise InvalidInputError(
            f"Expected noise_multiplier={rules.noise_multiplier!r} to be finite and >= 0."
        )
    if (rules.rate is not None) != (rules.sampling == "poisson"):
        raise InvalidInputError("Expected a rate with sampling=poisson, and with no other.")
    if rules.rate is not None and not 2.0**-60 <= rules.rate <= 1:
        raise InvalidInputError(f"Expected 0 < rate={rules.rate!r} <= 1.")
    if not 0 <= rules.planned <= MOST_PLANNED:
        raise InvalidInputError(f"Expected 0 <= planned <= {MOST_PLANNED}, a number of rounds.")
    _check_sums(rules)
    _check_groups(rules)


def _check_sums(rules: Any) -> None:
    if rules.is_secure != (rules.threshold > 0) or not 0 <= rules.colluding <= rules.threshold:
        raise InvalidInputError("Expected a threshold with secure-aggregation, and only there.")
    if rules.is_secure and (rules.threshold - rules.colluding < 1 or rules.as_published):
        raise InvalidInputError("Expected threshold - colluding >= 1, and rules of our own.")
    if sums_of(rules) is not None and not rules.is_secure:
        raise InvalidInputError("Expected listed users only with secure-aggregation.")


def _check_groups(rules: Any) -> None:
    """Shares of the clip are powers of two: noise that is the run's is then, to the bit, the noise
    of a user's own multiplier, which is what the user is charged."""
    no_groups = InvalidInputError(
        f"Expected at most {MOST_GROUPS} groups of (least epsilon, share), both rising, shares in "
        "(0, 1]: powers of two of the clip, or of the rate of poisson samples."
    )
    groups = rules.groups
    least, shares = [group[0] for group in groups], [group[1] for group in groups]
    rising = least == sorted(set(least)) and shares == sorted(shares)
    fine = all(map(math.isfinite, least)) and all(
        0 < share <= 1 for share in (*shares, rules.share)
    )
    if not (rising and fine) or len(groups) > MOST_GROUPS:
        raise no_groups
    if not all(map(_is_power, (*(shares if rules.shares_of == "clip" else ()), rules.share))):
        raise no_groups
    if groups and (rules.shares_of == "rate" and rules.rate is None or rules.as_published):
        raise no_groups
    # Else a user's grid is not the run's: messages are truncated one by one, noise with them.
    if groups and rules.share != 1.0:
        raise InvalidInputError("Expected no groups in the rules of a user of a share.")


def _is_power(share: float) -> bool:
    return math.frexp(share)[0] == 0.5


def share_of_group(groups: Groups, epsilon: float) -> float:
    """Return the share of a user of that epsilon: of the last group that begins at or below it, or
    of the first one."""
    shares = [share for least, share in groups if least <= epsilon]
    return shares[-1] if shares else groups[0][1]
