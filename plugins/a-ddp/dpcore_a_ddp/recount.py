"""The rounds that users joined, counted again by other formulas than the filters'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import (
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    optimizer_facts,
)
from dpcore_lab.checks import epsilon_of_losses

if TYPE_CHECKING:
    from dpcore.plugin.parts import Optimizer
    from dpcore_a_ddp.pools.round_rules import GradientRounds

__all__ = ["recount", "recounted_delta"]


def recount(
    optimizer: Optimizer,
    rules: GradientRounds,
    joined: int,
    n_rows: int,
    budget: tuple[float, float],
) -> None:
    """Raise AssertionError if so many rounds of a user of so many rows exceed the user's budget of
    epsilon and delta. They are counted where Theorem 1 or privacy losses bound them, or no row is
    sampled."""
    rules = rules.of_budget(budget[0])
    event: Any = rules.event(n_rows)
    p, inner, rounds = 1.0, event, joined
    if isinstance(event, PoissonSampledDpEvent):
        p, inner = event.sampling_probability, event.event
    elif isinstance(event, SampledWithoutReplacementDpEvent):
        p, inner = event.sample_size / event.source_dataset_size, event.event
    if rules.sampling == "pass":
        rounds = -(-joined // n_rows)
    m = inner.noise_multiplier
    by = optimizer_facts(optimizer).accountant
    if p < 1.0 and by == "pld":
        epsilon = epsilon_of_losses([event] * rounds, budget[1])
        assert epsilon <= budget[0] * (1 + 1e-6), f"The rounds joined come to {epsilon:.6g}."
    elif p == 1.0 or by == "sampling-composition":
        delta = recounted_delta(rounds, m, p, budget[0])
        assert delta <= budget[1] * (1 + 1e-6), f"The rounds joined come to delta = {delta:.6g}."


def recounted_delta(rounds: int, noise_multiplier: float, p: float, epsilon: float) -> float:
    """Return delta by Theorem 1 of Cheng et al. 2020, in floats, with SciPy's distributions."""
    from scipy.special import log_ndtr
    from scipy.stats import binom

    hits = np.arange(1, rounds + 1)
    mu = np.sqrt(hits) / noise_multiplier
    upper = np.exp(log_ndtr(mu / 2 - epsilon / mu))
    lower = np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return float(binom.pmf(hits, rounds, p) @ (upper - lower))
