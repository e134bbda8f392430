"""The parameters of DP-AGD."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dpcore.plugin import check_ranges, option

__all__ = ["Options"]


_U = "u = n mu / sqrt(n_features), n rows, mu the whole budget as Gaussian DP"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Fields left at ``None`` are fixed functions of public facts (``dpcore_dp_agd.defaults``)."""

    steps: int | None = option(
        None,
        "planned number of steps: each is given an equal share of the budget",
        "steps",
        f"the more, the stronger the signal u: 45 (u / 39)^0.64, from 10 to 400; {_U}",
        range=(1, 10**6),
    )
    splits: int | None = option(
        None,
        "instead of steps, the paper's rule: a release starts at epsilon / (2 splits)",
        "splits",
        "set by steps",
        range=(1, 10**6),
    )
    clip: float | None = option(
        None,
        "bound of a row's gradient",
        "norm of a gradient",
        "row_norm times 0.125 (u / 39)^0.36, from 0.02 to 1; u as in the rule for steps",
        range=(2.0**-20, 2.0**12),
    )
    max_step: float | None = option(
        None,
        "bound of the largest candidate step",
        "norm of w",
        "8 / row_norm, at most 1024",
        range=(2.0**-10, 2.0**10),
    )
    selection_share: float = option(
        0.015, "share of the budget for selecting step sizes", "1", range=(0, 1, "()")
    )
    candidates: int = option(
        10, "step sizes to choose from, beside 0", "step sizes", range=(1, 1000)
    )
    loss_clip: float = option(
        2.0, "bound of a row's loss in the selection", "loss", range=(2.0**-10, 2.0**20)
    )
    gamma: float = option(
        0.05,
        "a gradient's share is multiplied by 1 + gamma after step size 0 won",
        "1",
        range=(0, 10, "(]"),
    )
    eta: float = option(
        0.1,
        "the largest candidate becomes 1 + eta times the largest of the last tau steps chosen",
        "1",
        range=(0, 10),
    )
    tau: int = option(
        10, "steps between updates of the largest candidate", "steps", range=(1, math.inf)
    )
    step_decay: float = option(
        0.6,
        "fraction by which candidates shrink, linearly, over the planned steps",
        "1",
        range=(0, 1),
    )
    shrink: float = option(
        0.7,
        "candidates of a step are multiplied by it each time that step size 0 won",
        "1",
        range=(0, 1, "(]"),
    )
    momentum: float = option(
        0.85, "weight of the earlier directions in the next one", "1", range=(0, 1, "[)")
    )
    averaging: float = option(
        3.0,
        "iterate t weighs about t^averaging in the result; negative: the last iterate",
        "1",
        range=(-1, 100),
    )
    count_share: float = option(
        0.02,
        "share of the budget for counting rows where no public number exists",
        "1",
        range=(0, 1, "()"),
    )
    batch_size: int | None = option(
        None,
        "expected rows of a release, drawn by secret coins; charged as all rows",
        "rows",
        "all of them",
        range=(1, 2**40),
    )
    as_published: bool = option(False, "behave as the authors' code: not private")
    use: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_ranges(self)
