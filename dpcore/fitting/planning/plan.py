"""The plan of a fit: the parts that its settings name, built and checked before any data."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError, RegistryError, near_names
from dpcore.fitting.planning.engines import load_engine
from dpcore.fitting.planning.losses import names_of_loss
from dpcore.fitting.planning.optimizer_queries import choose
from dpcore.fitting.planning.planned import Plan
from dpcore.fitting.planning.slots import fill_slots
from dpcore.fitting.request.settings import Settings, option_of
from dpcore.fitting.request.targets import Budget, budget_of, target_values
from dpcore.moved import INSTALL, table_of
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import Registry, load_registry
from dpcore.registry.parameters import convert_all
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from dpcore.protocols import Accountant
    from dpcore.protocols.optimizer import Optimizer

__all__ = [
    "Plan",
    "make_plan",
]


def make_plan(settings: Settings, registry: Registry | None = None) -> Plan:
    """Return the parts that the settings name.

    Raises RegistryError for an unknown or failed name, InvalidInputError for a parameter, slot,
    preset or budget that cannot be used.

    Examples
    --------
    >>> from dpcore.plugin import Settings
    >>> from dpcore.plugin.commands import make_plan
    >>> make_plan(Settings(epsilon=0.5)).accountant.name
    'gdp'
    """
    registry = registry or load_registry()
    settings = settings.checked()
    if not settings.algo:
        settings = dataclasses.replace(settings, algo=Settings.default_algorithm())
    _require_owner(settings, registry)
    asked = settings.algo
    settings, chosen_by = choose(settings, registry)
    factory = registry.load("optimizer", settings.algo)
    params, of_loss = settings.params_apart(settings.params)
    _check_published(settings, factory, params)
    with _told_who_chose(settings, chosen_by):
        _check_source(settings, factory, of_loss)
        preset = _preset(factory, settings)
        use = fill_slots(factory, settings, preset, registry)
        budget = budget_of(settings, factory, registry)
        values = {**preset, **target_values(settings, factory, registry)}
        elsewhere = names_of_loss(settings.loss, registry)
        optimizer = _build(factory, settings, params, values, use, elsewhere)
    name, accountant = _accountant(settings, factory, preset, budget, registry)
    filled = {name: use.get(name, slot.names[0]) for name, slot in factory.slots.items()}
    engine = settings.engine.partition(":")[0]
    parts = [("accountant", name), ("loss", settings.loss), ("engine", engine)]
    parts += [("mechanism", filling) for filling in filled.values()]
    return Plan(
        settings=settings,
        entry=registry.get("optimizer", settings.algo),
        optimizer=optimizer,
        use=filled,
        loss=settings.make_loss(registry),
        accountant=accountant,
        relation=NeighboringRelation.parse(settings.relation or NeighboringRelation.usual(factory)),
        engine=load_engine(settings.engine, registry),
        chosen_by=chosen_by,
        targets=(
            *(registry.get(kind, part).target for kind, part in parts),
            *filter(None, [optimizer_facts(factory).answered_by]),
        ),
        expected_utility=optimizer_facts(registry.load("optimizer", asked)).expected_utility,
    )


@contextmanager
def _told_who_chose(settings: Settings, chosen_by: dict[str, str] | None) -> Iterator[None]:
    """Add to an error about an algorithm that nobody named where it comes from."""
    try:
        yield
    except DpcoreError as error:
        if chosen_by is not None:
            error.add_note(f"({chosen_by['name']} chose {settings.algo}.)")
        raise


def _accountant(
    settings: Settings,
    factory: Any,
    preset: Mapping[str, Any],
    budget: Budget,
    registry: Registry,
) -> tuple[str, Accountant]:
    """Return the name and the empty filter of a budget: as asked for, else the preset's, else what
    the algorithm takes by itself."""
    epsilon, delta, usual = budget
    facts = optimizer_facts(factory)
    if settings.as_published:
        usual = facts.published_accountant or usual
    usual = preset.get("accountant", usual)
    if facts.answered_by:
        usual = facts.load_source().usual_accountant(factory, settings) or usual
    name = settings.accountant or usual
    conversion = settings.conversion
    if conversion is None and settings.accountant in (None, usual):
        conversion = preset.get("accountant_conversion")
    accountant, native = registry.load("accountant", name), settings.native_budget()
    if native is not None:
        return name, accountant.of_native_budget(native[1], delta, conversion)
    return name, accountant.from_budget(epsilon, delta, conversion)


def _preset(factory: Any, settings: Settings) -> dict[str, Any]:
    if settings.preset is None:
        return {}
    presets = optimizer_facts(factory).presets
    if settings.preset not in presets:
        raise InvalidInputError(
            f"{settings.algo} has no preset {settings.preset!r}."
            f"{near_names(settings.preset, presets)}"
        )
    return dict(presets[settings.preset])


def _build(
    factory: Any,
    settings: Settings,
    params: Mapping[str, Any],
    preset: Mapping[str, Any],
    use: dict[str, str],
    elsewhere: list[str],
) -> Optimizer:
    fields = {f.name for f in dataclasses.fields(factory) if f.init}
    values = convert_all(factory, {n: v for n, v in preset.items() if n in fields})
    values |= convert_all(factory, params, settings.algo, elsewhere)
    if use:
        values["use"] = dict(use)
    if settings.as_published:
        if "as_published" not in inspect.signature(factory).parameters:
            raise InvalidInputError(f"{settings.algo} has no published code to reproduce.")
        values["as_published"] = True
    try:
        optimizer: Optimizer = factory(**values)
        return optimizer
    except DpcoreError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{settings.algo} refuses its parameters: {error}") from error


def _check_published(settings: Settings, factory: Any, params: Mapping[str, Any]) -> None:
    """Refuse to set what the authors' code, which has constants of its own, would ignore."""
    taken = optimizer_facts(factory).published_options
    ignored = [name for name in params if name.replace("-", "_") not in taken]
    asked = {
        "--set (params=)": ignored,
        option_of("use"): settings.use,
        option_of("preset"): settings.preset,
    }
    for option, value in asked.items():
        if settings.as_published and value:
            raise InvalidInputError(
                f"Expected {option_of('as_published')} without {option}: the authors' code runs "
                "with its own constants."
            )


_OF_SOURCES = ("users", "trust")
"""Settings that a source of answers reads; every other optimizer's rows are in one place."""


def _require_owner(settings: Settings, registry: Registry) -> None:
    """Raise RegistryError for a setting of a package that registers nothing here."""
    for name in _OF_SOURCES:
        owner = table_of("options").get(name)
        if getattr(settings, name) is not None and owner is not None:
            entries = registry.entries("optimizer")
            if owner not in {entry.distribution for entry in entries}:
                raise RegistryError(
                    f"No algorithm that takes {option_of(name)} is installed. It is in {owner}: "
                    f"{INSTALL}. All others have all rows in one place."
                )


def _check_source(settings: Settings, factory: Any, of_loss: Mapping[str, Any]) -> None:
    """Refuse what the source of an algorithm's answers cannot do, and settings of one where the
    algorithm has none."""
    stated = optimizer_facts(factory)
    if stated.answered_by:
        stated.load_source().refuse(factory, settings, of_loss)
        return
    for name in _OF_SOURCES:
        if getattr(settings, name) is not None:
            raise InvalidInputError(
                f"{settings.algo} takes no {option_of(name)}: all its rows are in one place."
            )
