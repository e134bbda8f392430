"""The verdict of an audit: in words, and as data."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.audit.claim import ALARM, Claim
from dpcore.audit.fits import Fits, Request
from dpcore.audit.processes import OnRuns, drawing, no_note
from dpcore.audit.saved import again, save
from dpcore.audit.two_world import Finding, audit_worlds
from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import exact
from dpcore.privacy.events import GaussianDpEvent, PureDpEvent
from dpcore.privacy.stated_events import ApproximateDpEvent
from dpcore.testing.power import PROBABILITY, detectable_factor

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent

__all__ = ["RUNS", "Verdict", "verdict", "verdict_again"]

RUNS = {"two-world": 3_000, "releases": 100_000, "one-run": 400}
"""Runs over both tables; draws of each release, likewise; rows of one run."""


@dataclass(frozen=True)
class Verdict:
    """``told`` : what ``dpcore audit --json`` prints; ``lines`` : what it prints without."""

    is_violation: bool
    lines: tuple[str, ...]
    told: dict[str, Any]


def verdict(
    request: Request,
    method: str,
    runs: int | None,
    jobs: int,
    file: Path,
    on_runs: OnRuns = no_note,
) -> Verdict:
    """Return the verdict of an audit; a violation by two tables is written to ``file``."""
    fits, runs = Fits(request), RUNS[method] if runs is None else runs
    if method == "releases":
        return _of_releases(fits, runs)
    if method == "one-run":
        return _of_one_run(fits, runs)
    with drawing(fits, jobs, on_runs) as draw:
        finding = audit_worlds(fits.claim, draw, len(fits.pairs), runs)
    if finding.is_violation:
        save(file, fits, finding)
    return _of_worlds(fits, finding, file if finding.is_violation else None)


def verdict_again(file: Path, jobs: int, on_runs: OnRuns = no_note) -> Verdict:
    """Return the verdict of a file's set of outcomes, counted again."""
    fits, finding = again(file, jobs, on_runs)
    return _of_worlds(fits, finding, None)


def sentence(claim: Claim, epsilon: float, is_violation: bool) -> str:
    """Return the verdict in words, the measured epsilon rounded down."""
    if is_violation:
        return "VIOLATION"
    return f"consistent, at least {rounded_down(epsilon)} of the claimed {claim_of(claim)} at 95 %"


def rounded_down(epsilon: float) -> str:
    """Return an epsilon with three decimals at most, rounded down."""
    return f"{math.floor(1000 * epsilon) / 1000:g}"


def claim_of(claim: Claim) -> str:
    """Return a claimed epsilon with four decimals at most, rounded up."""
    return exact(math.ceil(round(10_000 * claim.epsilon, 6)) / 10_000)


def power(claim: Claim, counted: int, tests: int) -> str:
    """Return in words which sets of outcomes would be called violations, once one is learned: an
    algorithm shows no more in its outcomes than it costs, and mostly less. ``counted`` : runs of a
    table."""

    def event_of(factor: float) -> DpEvent:
        if claim.mu is not None:
            return GaussianDpEvent(1 / (claim.mu * factor))
        if claim.delta == 0:
            return PureDpEvent(claim.epsilon * factor)
        return ApproximateDpEvent(claim.epsilon * factor, claim.delta)

    factor = detectable_factor(event_of, counted, ALARM / (2 * tests))
    figure = "epsilon" if claim.mu is None else "mu"
    if math.isinf(factor):
        return f"so few runs would find nothing with probability {PROBABILITY:g}"
    times = f"{math.ceil(10 * factor) / 10:g} times the claimed {figure}"
    return f"would find, with probability {PROBABILITY:g}, outcomes that show {times}"


def rarest_answer(drawn: int) -> int:
    """Return how rare exact answers may be that so many draws find with probability .99: of n
    draws one is exact with probability 1 - (1 - p)^n, which is .99 for p about ln(100) / n."""
    return max(1, math.floor(drawn / -math.log(1 - PROBABILITY)))


def _head(fits: Fits, method: str) -> dict[str, Any]:
    plan, claim = fits.plan, fits.claim
    return {
        "algorithm": plan.entry.name,
        "loss": plan.settings.loss,
        "relation": plan.relation.value,
        "method": method,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "accountant": plan.accountant.name,
        "noise": "system" if fits.request.seed is None else f"seed {fits.request.seed}",
    }


def _of_worlds(fits: Fits, finding: Finding, file: Path | None) -> Verdict:
    head, words = _head(fits, "two-world"), fits.pairs[finding.pair].words
    counts, said = finding.counts, sentence(finding.claim, finding.epsilon, finding.is_violation)
    found = power(finding.claim, counts.runs, finding.tests)
    lines = [
        f"{head['algorithm']}, {head['loss']}, {head['relation']}: the final model, {words}",
        f"a set learned on other runs came up {counts.hits:,} times in {counts.runs:,} on one "
        f"table, {counts.other_hits:,} in {counts.other_runs:,} on the other",
        f"power: {found}",
        said,
    ]
    if file is not None:
        lines.append(f"the tables and the set are in {file}: dpcore audit --again {file}")
    told = head | {"tables": words, "counts": dataclasses.asdict(counts)}
    told |= {"epsilon_low": finding.epsilon, "violation": finding.is_violation}
    return Verdict(finding.is_violation, tuple(lines), told | {"power": found, "verdict": said})


def _of_releases(fits: Fits, runs: int) -> Verdict:
    from dpcore.audit.releases import audit_releases

    found, left = audit_releases(fits, runs)
    head = _head(fits, "releases")
    lines = [f"{head['algorithm']}, {head['loss']}, {head['relation']}: each release by itself"]
    rows = []
    for audited in found:
        finding, release = audited.finding, audited.release
        said = sentence(finding.claim, finding.epsilon, audited.is_violation)
        name = f"{release.kind} by {type(release.mechanism).__name__}"
        at = f"epsilon {audited.own:.3g} in the run, answers {release.share:.3g} of its sensitivity"
        lines.append(f"{name} ({at} apart): {said}{audited.fault and ': ' + audited.fault}")
        strength = power(finding.claim, finding.counts.runs, finding.tests)
        if audited.drawn:
            rare = rarest_answer(audited.drawn)
            strength += f", and an exact answer if it comes once in {rare:,} draws"
        lines.append(f"    power: {strength}")
        rows.append(
            {"release": name, "own_epsilon": audited.own, "share": release.share}
            | {"epsilon": finding.claim.epsilon, "epsilon_low": finding.epsilon}
            | {"violation": audited.is_violation, "fault": audited.fault, "power": strength}
        )
    lines += [f"not looked at: {name}; see the final model" for name in left]
    is_violation = any(audited.is_violation for audited in found)
    told = head | {"releases": rows, "not_looked_at": left, "violation": is_violation}
    return Verdict(is_violation, tuple(lines), told)


def _of_one_run(fits: Fits, canaries: int) -> Verdict:
    from dpcore.audit.one_run import audit_one_run

    if fits.request.as_published:
        raise InvalidInputError("One run is an audit of private code: leave --as-published out.")
    found = audit_one_run(fits, canaries, fits.request.seed)
    head, said = _head(fits, "one-run"), sentence(found.claim, found.epsilon, found.is_violation)
    lines = (
        f"{head['algorithm']}, {head['loss']}, {head['relation']}: one run, {canaries:,} rows",
        f"{found.right:,} of {found.guessed:,} guesses were right",
        said,
    )
    told = head | {"rows": canaries, "guesses": found.guessed, "right": found.right}
    told |= {"epsilon_low": found.epsilon, "violation": found.is_violation, "verdict": said}
    return Verdict(found.is_violation, lines, told)
