"""The admission of a comparison, as a whole, before the first fit: all fits, or nothing starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcore.errors import DpcoreError, InvalidInputError, PureBudgetError, near_names
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.commands import LedgerRequest, Run, make_plan
from dpcore.plugin.parts import load_registry, optimizer_facts
from dpcore_lab.compare.data_rows import Rows, is_private, request_for
from dpcore_lab.compare.external_fits import admit_externals, externals_among, refuse_ledger
from dpcore_lab.compare.folds import fold_key
from dpcore_lab.compare.settings import REFERENCES, check_alone, check_numbers, loss_with
from dpcore_lab.externals.exchange import check_rows
from dpcore_tables.files.requested import schema_of_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dpcore.plugin import Loss
    from dpcore.plugin.commands import Plan
    from dpcore_lab.compare.data_rows import Data
    from dpcore_lab.compare.settings import Comparison

__all__ = ["admit", "default_loss", "default_relation"]

_Plans = dict[str, list["Plan"]]


def default_relation(labels: Sequence[str]) -> str:
    """Return the relation of a comparison where none is asked for: as for a fit, but one for all
    that are named. Raises RegistryError for a name that is not known, InvalidInputError where no
    relation is common to all."""
    check_alone(labels)
    externals = externals_among([label for label in labels if label not in REFERENCES])
    ours = [label for label in labels if label not in externals]
    names = dict.fromkeys(label.partition(":")[0] for label in ours)
    of_ours = [name for name in names if name not in (*REFERENCES, "all")]
    factories = {name: load_registry().load("optimizer", name) for name in of_ours}
    usual = NeighboringRelation.usual(*factories.values())
    if any(usual not in factory.relations for factory in factories.values()):
        declared = "; ".join(f"{n} {' or '.join(f.relations)}" for n, f in factories.items())
        raise InvalidInputError(f"No relation is common to all: {declared}. Compare them apart.")
    return usual


def default_loss(
    data: Sequence[str],
    schema: str | os.PathLike[str] | None,
    multiclass: str | None = None,
) -> str:
    """Return the loss of a comparison where none is asked for: as for a fit, but one for all data
    sets and files, by their public labels."""
    if multiclass is not None:
        return Settings.usual_loss()
    return Settings.usual_loss(*(schema_of_rows(request_for(name, schema)) for name in data))


def admit(comparison: Comparison) -> tuple[Comparison, dict[str, str]]:
    """Return the comparison with its algorithms named, and why others are left out.

    ``("all",)`` means every optimizer that is installed and fits loss, relation, budget and
    data; one whose parameters are set counts as named, and is not left out. References among the
    algorithms are taken out: they are fitted beside any, once. Where nothing else is named, they
    are the comparison.

    Raises InvalidInputError, RegistryError or DataError for what cannot be compared as asked.
    """
    check_numbers(comparison)
    _check_sources(comparison)
    named = comparison.algorithms != ("all",)
    labels = _installed()
    if named:
        labels = tuple(label for label in comparison.algorithms if label not in REFERENCES)
    if named and not labels:
        return _admit_references(comparison), {}
    _check_params(comparison, labels)
    loss = _loss_of(comparison)
    externals = externals_among(labels) if named else ()
    admit_externals(comparison, externals, classification=loss.classification)
    comparison = replace(comparison, externals=externals)
    labels = tuple(label for label in labels if label not in externals)
    must = labels if named else comparison.labels_set
    plans, left_out = _plans(comparison, labels, must)
    left_out |= _unfit_for_data(comparison, plans, must)
    if not (plans or externals):
        raise _nothing_fits(left_out)
    references = REFERENCES if loss.classification else ("nonprivate",)
    algorithms = (*plans, *externals)
    return replace(comparison, algorithms=algorithms, references=references), left_out


def _loss_of(comparison: Comparison) -> Loss:
    return loss_with(comparison.loss, comparison.loss_params)


def _admit_references(comparison: Comparison) -> Comparison:
    """Return the comparison of the references that are named and of nothing else."""
    rows = Rows(comparison, fold_key(comparison.seed))
    for name in filter(is_private, comparison.data):
        request = LedgerRequest()
        schema = rows.data(name).train.schema
        request.note_outside(schema, "references of a comparison: exact fits")
    named = tuple(name for name in REFERENCES if name in comparison.algorithms)
    _check_params(comparison, ())
    comparison.settings(named[0], comparison.epsilons[0], comparison.seed).checked()
    loss = _loss_of(comparison)
    if "majority" in named and not loss.classification:
        raise InvalidInputError(f"majority is of classes, and {loss.name} is for real values.")
    for name in comparison.data:
        dataset = rows.data(name).train
        each = comparison.multiclass is not None
        Settings.check_label(loss, dataset.schema, one_against_rest=each)
        NeighboringRelation.parse(comparison.relation).require_all(dataset.rows_dropped)
    return replace(comparison, algorithms=(), references=named)


def _check_params(comparison: Comparison, labels: tuple[str, ...]) -> None:
    """Refuse to set what is not fitted, or, as a reference, has no parameters."""
    unset = [label for label in comparison.labels_set if label not in labels]
    if unset:
        option = "--set" if unset[0] in comparison.params else "--use"
        raise InvalidInputError(f"{option} names {unset[0]!r}.{near_names(unset[0], labels)}")


def _check_sources(comparison: Comparison) -> None:
    for name in comparison.data:
        if name.encode("utf-8", "replace").decode() != name:
            raise InvalidInputError(
                f"The name {name!r} is not UTF-8, which tables, figures and the results file are "
                "in; rename the file, or make a link to it."
            )
    private = any(map(is_private, comparison.data))
    if comparison.schema is not None and not private:
        raise InvalidInputError("Expected --schema with a file only: data sets have their own.")


def _plans(
    comparison: Comparison, labels: tuple[str, ...], must: tuple[str, ...] = ()
) -> tuple[_Plans, dict[str, str]]:
    """Return every algorithm's plan for each epsilon; what has none is left out, or, if it is one
    of ``must``, refused."""
    plans: _Plans = {}
    left_out: dict[str, str] = {}
    for label in labels:
        try:
            _check_input(label)
            plans[label] = [
                make_plan(comparison.settings(label, epsilon, comparison.seed))
                for epsilon in comparison.epsilons
            ]
        except DpcoreError as error:
            if label in must:
                raise _refusal(comparison, error) from error
            left_out[label] = str(error)
    return plans, left_out


def _check_input(label: str) -> None:
    """Refuse an algorithm that has no place on an axis of epsilon: asked for an accuracy, or one
    without a guarantee at any (as-published runs are labelled as such)."""
    factory = load_registry().load("optimizer", label.partition(":")[0])
    stated = optimizer_facts(factory)
    if not stated.private:
        raise InvalidInputError(
            f"{label} declares that it is not private; what is compared at an epsilon has one. The "
            "references, exact and not private, are fitted anyway."
        )
    if stated.targets:
        raise InvalidInputError(
            f"A comparison sets epsilon, and {label} takes a target, from which its epsilon "
            "follows: leave it out."
        )


def _unfit_for_data(comparison: Comparison, plans: _Plans, must: tuple[str, ...]) -> dict[str, str]:
    """Take the algorithms that do not fit all data sets out of ``plans``, and return why;
    InvalidInputError for one of ``must``. That private rows are scored is noted in their ledgers.
    """
    left_out: dict[str, str] = {}
    rows = Rows(comparison, fold_key(comparison.seed))
    for name in comparison.data if plans or comparison.externals else ():
        request = LedgerRequest() if is_private(name) else None
        data = rows.data(name)
        if comparison.externals:
            Settings.check_label(_loss_of(comparison), data.train.schema)
            NeighboringRelation.parse(comparison.relation).require_all(data.train.rows_dropped)
            check_rows(data.train)
            refuse_ledger(comparison.externals[0], name, data.train.schema)
        if request is not None:
            request.note_outside(data.train.schema, "a comparison: its scores are exact")
        unfit = _unfit(plans, data)
        left_out |= unfit
        for label, why in unfit.items():
            if label not in must:
                continue
            fit = ", ".join(_fitting(comparison, data)) or "none"
            raise InvalidInputError(f"{label} does not fit: {why} Algorithms that do: {fit}.")
    return left_out


def _unfit(plans: _Plans, data: Data) -> dict[str, str]:
    """Take the algorithms that do not fit the data out of ``plans``, and return why."""
    reasons: dict[str, str] = {}
    for label, of_label in plans.items():
        try:
            for plan in of_label:
                Run(plan, data.train).ready()
        except DpcoreError as error:
            reasons[label] = str(error)
    for label in reasons:
        del plans[label]
    return reasons


def _refusal(comparison: Comparison, error: DpcoreError) -> DpcoreError:
    """Return the error of an algorithm's plan, for a budget of delta = 0 with those that take it: a
    comparison names no accountants, so that each has its own."""
    if not isinstance(error, PureBudgetError):
        return error
    takers = ", ".join(_plans(comparison.with_nothing_set(), _installed())[0]) or "none"
    return InvalidInputError(
        "At delta = 0 a comparison takes algorithms whose own accountant is pure, and auto, which "
        f"chooses for it: {takers}."
    )


def _fitting(comparison: Comparison, data: Data) -> tuple[str, ...]:
    """Return the optimizers that would fit, with their defaults."""
    everything = comparison.with_nothing_set()
    plans, _ = _plans(everything, _installed())
    _unfit(plans, data)
    return tuple(plans)


def _installed() -> tuple[str, ...]:
    return tuple(n for n in load_registry().names("optimizer") if n not in REFERENCES)


def _nothing_fits(left_out: dict[str, str]) -> InvalidInputError:
    if not left_out:
        return InvalidInputError("No algorithm is installed that has a budget.")
    if len(set(left_out.values())) == 1:  # It is wrong with all of them.
        return InvalidInputError(next(iter(left_out.values())))
    reasons = " ".join(f"{label}: {why}" for label, why in left_out.items())
    return InvalidInputError(f"No algorithm fits what is to be compared. {reasons}")
