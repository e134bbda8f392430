"""``dpcore ledger``: what a table has cost, across runs and people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from dpcore.errors import InvalidInputError, LedgerError
from dpcore.plugin.commands import (
    Argument,
    CommandGroup,
    Option,
    print_json,
    print_lines,
)
from dpcore_accounting.commands.printing import print_bytes

__all__ = ["ledger_commands"]

_File = Annotated[
    str,
    Argument(
        help="The ledger's file, or its address in a database: postgresql://HOST/DATABASE?"
        "ledger=NAME.",
        show_default=False,
    ),
]
_Epsilon = Annotated[float, Option(help="What all runs together may cost: epsilon > 0.")]
_Delta = Annotated[float, Option(help="Their delta: 0 <= delta < 1; 0 needs the pure filter.")]
_Accountant = Annotated[
    str,
    Option(
        help="The one filter that all runs are charged to, for good: zcdp, which holds every kind "
        "of run; gdp, for runs of gdp, which it wastes nothing of, and of pure; pure; rdp."
    ),
]
_Conversion = Annotated[
    str | None, Option(help="The filter's rule from (epsilon, delta) to its unit.")
]
_Aside = Annotated[
    float | None,
    Option(
        help="The part of delta that is kept for runs of other accountants, which are charged "
        "whole, as (epsilon, delta); by default a quarter."
    ),
]


def init(
    file: _File,
    epsilon: _Epsilon,
    delta: _Delta = 1e-6,
    relation: Annotated[
        str, Option(help="What neighbouring tables differ by; as that of the runs, mostly.")
    ] = "add-or-remove-one",
    unit: Annotated[
        str | None, Option(help="The column of ids whose rows are protected together.")
    ] = None,
    accountant: _Accountant = "zcdp",
    conversion: _Conversion = None,
    aside: _Aside = None,
) -> None:
    """Open the ledger of one sensitive table, with the budget that all runs over it share.

    The budget, relation and filter are fixed for good. Then name the file in --ledger, in
    DPCORE_LEDGER, or as the key ledger of the table's schema.
    """
    from dpcore_ledger.rendering import promise
    from dpcore_ledger.table_ledger import TableLedger
    from dpcore_ledger.terms import Terms

    terms = Terms.of(
        epsilon,
        delta,
        accountant=accountant,
        conversion=conversion,
        relation=relation,
        unit=unit,
        aside=aside,
    )
    TableLedger.create(file, terms)
    print_lines(f"Opened {file}: {promise([terms])}")


def raise_cap(
    file: _File,
    epsilon: _Epsilon,
    delta: _Delta = 1e-6,
    accountant: _Accountant = "zcdp",
    conversion: _Conversion = None,
    aside: _Aside = None,
) -> None:
    """Open a further budget beside those that are there; what is promised is their sum.

    Decided in the light of what was released, the sum is no promise that was fixed beforehand.
    """
    from dpcore_ledger.rendering import promise
    from dpcore_ledger.table_ledger import TableLedger
    from dpcore_ledger.terms import Terms

    ledger = TableLedger(file)
    first = ledger.state().budgets[0]
    options: dict[str, Any] = {"accountant": accountant, "conversion": conversion, "aside": aside}
    terms = Terms.of(epsilon, delta, relation=first.relation, unit=first.unit, **options)
    ledger.raise_cap(terms)
    print_lines(f"Raised {file}: {promise(ledger.state().budgets)}")


def show(
    file: _File,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    as_html: Annotated[
        bool, Option("--html", help="Print one page of HTML, with the budget over time.")
    ] = False,
) -> None:
    """Print the budget, what remains of it, and every run."""
    from dpcore_accounting.commands.printing import print_table
    from dpcore_ledger.rendering import COLUMNS, remaining, run_rows, to_dict
    from dpcore_ledger.state import state_of
    from dpcore_ledger.verify import verified

    if as_json and as_html:
        raise InvalidInputError("Expected --json or --html, not both.")
    entries = verified(file)
    state = state_of(entries)
    if as_json:
        print_json(to_dict(state, entries))
        return
    if as_html:
        from dpcore_ledger.page import page

        print_bytes(page(file, state, entries))
        return
    print_lines(*remaining(state))
    if state.runs:
        print_table("Runs", COLUMNS, run_rows(state))


def verify(
    file: _File,
    models: Annotated[
        list[Path] | None, Argument(help="Model files that were made under it.")
    ] = None,
) -> None:
    """Check that no entry was altered, and that the ledger knows the runs of models.

    A model whose run it does not know was charged to a copy of the ledger, or the ledger is an
    older copy that was put back: more was spent than it says. A model file that was changed since
    it was saved is named too.
    """
    from dpcore_ledger.verify import unknown_models, verified

    entries = verified(file)
    unknown = unknown_models(entries, models or ())
    for path, reason in unknown:
        print_lines(f"{path}: {reason}.", err=True)
    if unknown:
        counts = f"{len(unknown)} of {len(models or ())}"
        raise LedgerError(f"{file} does not account for {counts} models.")
    known = f"; {len(models)} model{'s' * (len(models) > 1)} known" if models else ""
    print_lines(f"{file}: {len(entries)} entries, none altered{known}.")


def close(
    file: _File, run: Annotated[int, Argument(help="Its number in `dpcore ledger show`.")]
) -> None:
    """Close a run that died, as spent: its whole budget stays charged."""
    from dpcore_ledger.table_ledger import TableLedger

    closed = TableLedger(file).close_as_spent(run)
    who = f"{closed.stated['algorithm']}, {closed.at}"
    print_lines(f"Closed run {run} ({who}) of {file} as spent.")


ledger_commands = CommandGroup(
    "Keep what all runs over a table have cost.",
    (("init", init), ("raise", raise_cap), ("show", show), ("verify", verify), ("close", close)),
)
