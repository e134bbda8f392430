"""``dpcore audit``: a measured lower bound beside the epsilon that an algorithm claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Argument, Option, Step, print_json, print_lines
from dpcore_lab.commands.progress import RunsMade

__all__ = ["audit_command"]

_METHODS = ("two-world", "releases", "one-run")


def audit_command(
    name: Annotated[
        str | None, Argument(help="An algorithm (dpcore list optimizers).", metavar="NAME")
    ] = None,
    loss: Annotated[
        str | None, Option(help="logistic if not given, or ridge where NAME needs it.")
    ] = None,
    relation: Annotated[
        str | None, Option(help="add-or-remove-one, or the first that NAME declares.")
    ] = None,
    epsilon: Annotated[float, Option(help="The claim; the worst case of an output.")] = 1.0,
    delta: Annotated[
        float, Option(help="The claim; 0 for those that give out a pure epsilon.")
    ] = 1e-5,
    method: Annotated[str, Option(help="two-world, releases or one-run.")] = "two-world",
    runs: Annotated[
        int | None,
        Option(
            help="Runs over both tables: 3,000 if not given; of releases the draws of each, "
            "100,000; of one-run the rows, 400.",
            min=1,
        ),
    ] = None,
    rows: Annotated[int, Option(help="Rows that are made for a table.", min=2)] = 64,
    rows_per_unit: Annotated[int, Option(help="Rows of a unit.", min=1)] = 1,
    sets: Annotated[
        list[str] | None, Option("--set", help="NAME=VALUE: a parameter, as in train.")
    ] = None,
    use: Annotated[
        list[str] | None, Option("--use", help="SLOT=NAME: what fills a slot, as in train.")
    ] = None,
    as_published: Annotated[
        bool, Option("--as-published", help="The authors' code against what it prints.")
    ] = False,
    seed: Annotated[
        int | None, Option(help="Repeatable noise; the system's if not given.", min=0)
    ] = None,
    jobs: Annotated[int, Option(help="Processes that share whole runs.", min=1)] = 1,
    save: Annotated[
        Path | None, Option(help="File of a violation; audit-NAME.json if not given.")
    ] = None,
    repeated: Annotated[
        Path | None, Option("--again", help="Count again what such a file has.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Test an algorithm's claim on made tables that differ in one row.

    NAME runs many times. The epsilon that its outcomes prove is printed beside the one it claims;
    exit 1 where they contradict the claim. No table can be given: the rows are made. A consistent
    audit is no proof. Examples: dpcore audit dp-agd --jobs 2; dpcore audit dp-gd --epsilon 4
    --method releases.
    """
    from dpcore_lab.audit.fits import Request
    from dpcore_lab.audit.verdict import Verdict, verdict, verdict_again

    if method not in _METHODS:
        raise InvalidInputError(f"Expected --method {method!r} to be {', '.join(_METHODS)}.")
    if (name is None) == (repeated is None):
        raise InvalidInputError("Expected an algorithm's NAME, or --again FILE.")
    found: Verdict
    made = RunsMade()
    if repeated is not None:
        with Step.shown(made.look, hidden=as_json):
            found = verdict_again(repeated, jobs, made.on_runs)
    else:
        params: dict[str, Any] = dict(Option.assigned(sets, "--set"))
        claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "params": params}
        others: dict[str, Any] = {"rows": rows, "rows_per_unit": rows_per_unit}
        others |= {"as_published": as_published, "seed": seed}
        others["use"] = dict(Option.assigned(use, "--use"))
        request = Request(str(name), loss, relation, **claim, **others)
        place = save or Path(f"audit-{name}.json")
        with Step.shown(made.look, hidden=as_json):
            found = verdict(request, method, runs, jobs, place, made.on_runs)
    if as_json:
        print_json(found.told)
    else:
        print_lines(*found.lines)
    if found.is_violation:
        raise SystemExit(1)
