"""A ledger in words, and as JSON-able data."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import visible
from dpcore.plugin.parts import AdditiveAccountant, exact, float_up
from dpcore_ledger.cost import Run
from dpcore_ledger.remaining import epsilon_that_fits, more_like, shown_down, shown_up
from dpcore_ledger.state import OPEN, UNTOLD, charges_of, seen_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore_ledger.chain import Entry
    from dpcore_ledger.state import RunState, State
    from dpcore_ledger.terms import Terms

__all__ = [
    "COLUMNS",
    "history",
    "outside_rows",
    "promise",
    "remaining",
    "run_rows",
    "to_dict",
]

COLUMNS = ("run", "when", "who", "algorithm", "epsilon", "counts", "outcome", "model")
_OF_QUERIES = {
    "query": "that each row of a query's result comes from one row of its table alone",
    "query of units": "that each row of a query's result comes from rows of its unit alone",
    **{
        f"{how} query{types}{unit}": f"{said} each row of a query's result comes from {source}"
        for how, said in (
            ("checked", "that, by the query's text,"),
            ("claimed", "the claim on a query that"),
        )
        for types in ("", " of types")
        for unit, source in (("", "one row of its table"), (" of units", "rows of its unit alone"))
    },
}
"""Claims on the rows of a query, by the word that a run has for them."""
_ONE = AdditiveAccountant.ticks_up(Fraction(1))


def promise(budgets: Sequence[Terms], runs: Sequence[RunState] = ()) -> str:
    """Return what all runs under a ledger guarantee together: the sum of its budgets (basic
    composition; each filter is a mechanism of its own), under the conditions of all of them."""
    first = budgets[0]
    epsilon = float_up(sum((Fraction(terms.filter.epsilon) for terms in budgets), Fraction(0)))
    delta = float_up(sum((Fraction(terms.filter.delta) for terms in budgets), Fraction(0)))
    whose = "a row" if first.unit is None else f"all rows of a value of {first.unit!r}"
    names = " and ".join(dict.fromkeys(terms.filter.name for terms in budgets))
    raised = (
        ""
        if len(budgets) == 1
        else (
            " The budget was raised by someone who could see what had been released, so that the "
            "sum is no guarantee that was fixed beforehand."
        )
    )
    return (
        f"all runs that it lists are together ({exact(epsilon)}, {exact(delta)})-differentially "
        f"private under {first.relation} of {whose}{_conditions(runs)}, as enforced by {names}."
        f"{_without(runs)}{_not_told(runs)}{raised}"
    )


def _conditions(runs: Sequence[RunState]) -> str:
    limits = [run.found["most_rows"] for run in runs if "most_rows" in run.found]
    claims = {run.found["typed_by"] for run in runs if "typed_by" in run.found}
    types = sorted(claims - _OF_QUERIES.keys())
    parts = sorted({part for run in runs for part in run.found.get("parts", ())})
    said = f", among tables of at most {min(limits):,} rows" if limits else ""
    said += f", given the column types of a {' and a '.join(types)}" if types else ""
    said += "".join(f", given {_OF_QUERIES[claim]}" for claim in sorted(claims - {*types}))
    if parts:
        said += (
            f", provided that these parts, which are not from dpcore, are right: {', '.join(parts)}"
        )
    return said


def _without(runs: Sequence[RunState]) -> str:
    void = [str(run.number) for run in runs if run.found.get("why_not_private")]
    if not void:
        return ""
    return (
        f" Runs {', '.join(void)} turned out to guarantee nothing: the promise is for the other "
        "runs alone."
    )


def _not_told(runs: Sequence[RunState]) -> str:
    """Return the sentence about runs that never said under which conditions they are private."""
    silent = [str(run.number) for run in runs if run.outcome in UNTOLD and any(run.reserved)]
    if not silent:
        return ""
    return (
        f" Runs {', '.join(silent)} are open or died, and their conditions are not known: parts "
        "that are not from dpcore, types of columns, a number of rows."
    )


def _remaining_of(state: State, place: int, terms: Terms) -> Iterator[str]:
    """Yield what remains of a budget, and of it for each part of the rows."""
    used = state.spent(place)
    yield (
        f"Budget {place + 1}: {shown_down(used.remaining)} of {shown_down(used.budget)} "
        f"{used.unit} remains for runs to come; {shown_up(used.spent)} counts as spent."
    )
    for part in state.parts(place):
        seen = state.spent(place, part)
        yield (
            f"On {part.name}, runs on all rows included: {shown_up(seen.spent)} {used.unit} "
            f"counts as spent; {shown_down(seen.remaining)} remains."
        )
    name, delta = terms.filter.name, exact(terms.filter.delta)
    if fits := _fitting_epsilon(state, place, terms):
        yield f"A run under the {name} accountant fits up to epsilon {fits:.4g} at delta {delta}."
    else:
        yield f"No run under the {name} accountant fits at delta {delta}."


def _fitting_epsilon(state: State, place: int, terms: Terms) -> float | None:
    """Return the epsilon of a run by the budget's own accountant that still fits into it."""
    return epsilon_that_fits(state, Run(terms.filter, terms.relation, terms.unit), place)


def remaining(state: State) -> list[str]:
    """Return what remains of the budgets, in the terms of who plans a run."""
    said = promise(state.budgets, [*state.runs.values()])
    lines = [said[:1].upper() + said[1:]]
    for place, terms in enumerate(state.budgets):
        lines += _remaining_of(state, place, terms)
    charged = [run for run in state.runs.values() if any(run.reserved)]
    if charged:
        last = charged[-1]
        lines.append(f"Runs like the last one that still fit: {more_like(state, last)}.")
    open_runs = [str(run.number) for run in state.runs.values() if run.outcome == OPEN]
    if open_runs:
        lines.append(
            f"Open, and counted for all that was charged: {', '.join(open_runs)}. One that has "
            "died is closed by `dpcore ledger close`."
        )
    if state.outside:
        lines.append(
            f"Outside, without a guarantee, and in no budget: {len(state.outside)} (exact metrics, "
            "or runs that are not private)."
        )
    return lines


def run_rows(state: State) -> list[list[str]]:
    """Return the table of runs, a row each."""
    return [_row(state, run) for run in state.runs.values()]


def _row(state: State, run: RunState) -> list[str]:
    stated, unit = run.stated, state.budgets[run.budget].filter.unit
    counts = f"{shown_up(float_up(Fraction(run.ticks, _ONE)))} {unit}"
    if run.aside_ticks:
        counts += f" + {shown_up(float_up(Fraction(run.aside_ticks, _ONE)))}"
    models = ", ".join(digest[:12] for digest in run.models)
    # Four digits, rounded up, where an epsilon that follows from rho or mu has more.
    epsilon = min(exact(stated["epsilon"]), shown_up(stated["epsilon"]), key=len)
    algorithm = stated["algorithm"] + ("" if run.part is None else f" on {run.part.name}")
    who = stated["analyst"]
    cells = (run.number, run.at, who, algorithm, epsilon, counts, run.outcome, models)
    return [*map(visible, cells)]


def outside_rows(state: State) -> list[list[str]]:
    """Return the table of runs without a guarantee, a row each."""
    stated = [(entry.at, entry.body["stated"]) for entry in state.outside]
    return [
        [*map(visible, (at, each["analyst"], "; ".join(each["why_not_private"])))]
        for at, each in stated
    ]


def history(state: State, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return what counted as spent in each budget after each entry, zero before it was opened.
    Entries that end a run have no time: how long one takes is in no file."""
    moments = []
    for entry in entries:
        charged = [seen_of(charges)[0] for charges in charges_of(entry.body["after"])]
        charged += [0] * (len(state.budgets) - len(charged))
        spent = [float_up(Fraction(ticks, _ONE)) for ticks in charged]
        moments.append({"entry": entry.number, "at": entry.at, "spent": spent})
    return moments


def to_dict(state: State, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return all of a ledger but its chain."""
    last = state.runs[max(state.runs)] if state.runs else None
    return {
        "id": state.id,
        "promise": promise(state.budgets, [*state.runs.values()]),
        "budgets": [_budget_of(state, *placed) for placed in enumerate(state.budgets)],
        "more_like_the_last": None if last is None else more_like(state, last),
        "runs": [*map(_run_of, state.runs.values())],
        "outside": [{"at": entry.at, **entry.body} for entry in state.outside],
        "history": history(state, entries),
    }


def _budget_of(state: State, place: int, terms: Terms) -> dict[str, Any]:
    used = state.spent(place)
    return {
        "epsilon": used.epsilon,
        "delta": used.delta,
        "accountant": used.name,
        "unit": used.unit,
        "budget": used.budget,
        "spent": used.spent,
        "spent_is": "book-keeping of the filter; the guarantee is epsilon and delta",
        "remaining": used.remaining,
        "epsilon_that_fits": _fitting_epsilon(state, place, terms),
        "relation": terms.relation,
        "unit_of_protection": terms.unit or "one row",
        "parts": [
            {"part": part.name, "spent": seen.spent, "remaining": seen.remaining}
            for part in state.parts(place)
            for seen in (state.spent(place, part),)
        ],
    }


def _run_of(run: RunState) -> dict[str, Any]:
    return {
        "run": run.number,
        "entry": run.entry,
        "at": run.at,
        **run.stated,
        "budget": run.budget,
        "part": None if run.part is None else run.part.name,
        "counts": float_up(Fraction(run.ticks, _ONE)),
        "counts_of_delta": float_up(Fraction(run.aside_ticks, _ONE)),
        "outcome": run.outcome,
        **run.found,
        "models": run.models,
    }
