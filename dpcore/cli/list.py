"""``dpcore list``: what is installed, by kind, and what failed to load."""

from dataclasses import asdict
from typing import Annotated

from dpcore.cli.terminal.printing import print_json, print_lines
from dpcore.errors import InvalidInputError, RegistryError, near_names
from dpcore.registry.catalogue import (
    KINDS,
    Failure,
    Registration,
    Registry,
    load_registry,
    plural,
)
from dpcore.registry.commands import Argument, Option

__all__ = ["find_failures", "list_command"]

_Failures = tuple[Failure, ...]


def list_command(
    kind: Annotated[
        str | None,
        Argument(help="One of: " + ", ".join(map(plural, KINDS)) + ". Default: all."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown tables.")] = False,
    strict: Annotated[
        bool, Option("--strict", help="Import every target; exit 1 if one failed.")
    ] = False,
) -> None:
    """List the algorithms and parts that are installed, and the plugins that failed."""
    kinds = [_kind_of(kind)] if kind else list(KINDS)
    registry = load_registry()
    failures = registry.failures
    if strict:
        failures += find_failures(registry)
    in_text = _print_markdown if markdown else _print_tables
    (_print_json if as_json else in_text)(registry, kinds, failures)
    if strict and failures:
        raise SystemExit(1)


def find_failures(registry: Registry) -> _Failures:
    """Return every registered name whose target cannot be used, importing all of them."""
    found = []
    for entry in (entry for kind in KINDS for entry in registry.entries(kind)):
        try:
            registry.load(entry.kind, entry.name)
        except RegistryError as error:
            found.append(Failure(entry.name, entry.distribution, entry.version, str(error)))
    return tuple(found)


def _kind_of(word: str) -> str:
    for kind in KINDS:
        if word in (kind, plural(kind)):
            return kind
    raise InvalidInputError(f"There is no kind {word!r}.{near_names(word, map(plural, KINDS))}")


def _print_json(registry: Registry, kinds: list[str], failures: _Failures) -> None:
    tables = {plural(kind): [_row(e) for e in registry.entries(kind)] for kind in kinds}
    print_json({**tables, "failed": [asdict(failure) for failure in failures]})


def _row(entry: Registration) -> dict[str, str]:
    row = entry.shown()
    del row["kind"], row["target"]
    return row


def _print_markdown(registry: Registry, kinds: list[str], failures: _Failures) -> None:
    for kind in kinds:
        entries = registry.entries(kind)
        if not entries:
            continue
        print_lines(f"| {kind} | what it does | reference | from |", "|---|---|---|---|")
        for e in entries:
            cells = (f"`{e.name}`", e.summary, e.reference, f"{e.distribution} {e.version}")
            print_lines(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
        print_lines("")
    for failure in failures:
        print_lines(f"Failed: `{failure.name}` of {failure.owners}: {failure.reason}")


def _print_tables(registry: Registry, kinds: list[str], failures: _Failures) -> None:
    for kind in kinds:
        entries = registry.entries(kind)
        print_lines(plural(kind))
        width = max((len(e.name) for e in entries), default=0)
        for e in entries:
            print_lines(f"  {e.name:<{width}}  {e.summary}")
            source = f"{e.distribution} {e.version}"
            print_lines(f"  {'':<{width}}  {source}{'; ' if e.reference else ''}{e.reference}")
        if not entries:
            print_lines("  none installed")
    if failures:
        print_lines("failed")
        for failure in failures:
            print_lines(f"  {failure.name} ({failure.owners})")
            print_lines(f"    {failure.reason}")
