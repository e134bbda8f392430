"""The verdict of an audit: in words, and as data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.processes import OnRuns, drawing, no_note
from dpcore_lab.audit.saved import Saved, load, save_releases, save_rows, save_worlds
from dpcore_lab.audit.text import power, rarest_answer, sentence
from dpcore_lab.audit.two_world import Finding, audit_worlds, count_again

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
    """Return the verdict of an audit; a violation is written to ``file``."""
    fits, runs = Fits(request), RUNS[method] if runs is None else runs
    if method == "releases":
        return _of_releases(fits, runs, file)
    if method == "one-run":
        return _of_one_run(fits, runs, file)
    fits.try_out()
    with drawing(fits, jobs, on_runs) as draw:
        finding = audit_worlds(fits.claim, draw, len(fits.pairs), runs)
    if finding.is_violation:
        save_worlds(file, fits, finding)
    return _of_worlds(fits, finding, file)


def verdict_again(file: Path, jobs: int, on_runs: OnRuns = no_note) -> Verdict:
    """Return the verdict of a file, counted again: with a seed the same runs and draws, else as
    many fresh ones; one run is of fresh coins then, too.

    Raises InvalidInputError for what is no such file, and where its tables, or the answers of its
    releases, are not made any more.
    """
    saved = load(file)
    if saved.method == "releases":
        return _of_releases(saved.fits, saved.runs, None, saved)
    if saved.method == "one-run":
        return _of_one_run(saved.fits, saved.runs, None)
    old = saved.finding()
    with drawing(saved.fits, jobs, on_runs) as draw:
        numbers = (old.first, old.counts.runs)
        finding = count_again(saved.fits.claim, draw, old.pair, old.statistic, numbers)
    return _of_worlds(saved.fits, finding, None)


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
    lines = (
        f"{head['algorithm']}, {head['loss']} loss, {head['relation']}: final models of two "
        f"neighbouring tables ({words})",
        f"a set of outcomes, chosen on other runs, came up in {counts.hits:,} of {counts.runs:,} "
        f"runs on one table and in {counts.other_hits:,} of {counts.other_runs:,} on the other",
        f"power: {found}",
        said,
        *_left("the tables and the set", finding.is_violation, file),
    )
    told = head | {"tables": words, "counts": dataclasses.asdict(counts)}
    told |= {"epsilon_low": finding.epsilon, "violation": finding.is_violation}
    return Verdict(finding.is_violation, lines, told | {"power": found, "verdict": said})


def _left(what: str, is_violation: bool, file: Path | None) -> list[str]:
    """Return the line that says where a violation was written down, if it was."""
    if file is None or not is_violation:
        return []
    return [f"{what} are in {file}: dpcore audit --again {file}"]


def _of_releases(fits: Fits, runs: int, file: Path | None, saved: Saved | None = None) -> Verdict:
    from dpcore_lab.audit.releases import audit_releases

    found = audit_releases(fits, runs)
    if saved is not None:
        saved.require_answers(found)
    head = _head(fits, "releases")
    lines = [
        f"{head['algorithm']}, {head['loss']} loss, {head['relation']}: each release by itself"
    ]
    rows = []
    for audited in found:
        finding, release = audited.finding, audited.release
        said = sentence(finding.claim, finding.epsilon, audited.is_violation)
        at = f"in the run it costs epsilon {audited.own:.3g}"
        far = f"the tables' exact answers differ by {release.share:.3g} times the sensitivity"
        lines.append(f"{release.name} ({at}; {far})")
        lines.append(f"    {said}{audited.fault and ': ' + audited.fault}")
        strength = power(finding.claim, finding.counts.runs, finding.tests)
        if audited.drawn:
            rare = rarest_answer(audited.drawn)
            strength += f", and an exact answer in one of {rare:,} draws"
        lines.append(f"    power: {strength}")
        rows.append(
            {"release": release.name, "own_epsilon": audited.own, "share": release.share}
            | {"epsilon": finding.claim.epsilon, "epsilon_low": finding.epsilon}
            | {"violation": audited.is_violation, "fault": audited.fault, "power": strength}
        )
    is_violation = any(audited.is_violation for audited in found)
    if is_violation and file is not None:
        save_releases(file, fits, found, runs)
    lines += _left("the answers of two neighbours", is_violation, file)
    told = head | {"releases": rows, "violation": is_violation}
    return Verdict(is_violation, tuple(lines), told)


def _of_one_run(fits: Fits, canaries: int, file: Path | None) -> Verdict:
    from dpcore_lab.audit.one_run import audit_one_run

    if fits.request.as_published:
        raise InvalidInputError("One run is an audit of private code: leave --as-published out.")
    found = audit_one_run(fits, canaries, fits.request.seed)
    if found.is_violation and file is not None:
        save_rows(file, fits, found)
    head, said = _head(fits, "one-run"), sentence(found.claim, found.epsilon, found.is_violation)
    lines = (
        f"{head['algorithm']}, {head['loss']}, {head['relation']}: one run, {canaries:,} rows",
        f"{found.right:,} of {found.guessed:,} guesses were right",
        said,
        *_left("the rows and the guesses", found.is_violation, file),
    )
    told = head | {"rows": canaries, "guesses": found.guessed, "right": found.right}
    told |= {"epsilon_low": found.epsilon, "violation": found.is_violation, "verdict": said}
    return Verdict(found.is_violation, lines, told)
