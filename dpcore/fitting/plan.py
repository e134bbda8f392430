"""The settings of a fit as frozen data, and the parts that they name, checked before any data."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError, near_names
from dpcore.fitting.choice import DEFAULT, choose
from dpcore.fitting.targets import budget_of, target_values
from dpcore.privacy.relations import parse_relation, usual_relation
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import Entry, Registry, load_registry
from dpcore.registry.contract import load_optimizer
from dpcore.registry.parameters import convert, convert_all
from dpcore.registry.presets import presets_of

if TYPE_CHECKING:
    from dpcore.protocols import Accountant, Engine, Loss, Optimizer

__all__ = [
    "Plan",
    "Settings",
    "checked_settings",
    "is_private",
    "make_plan",
]

_MOST_THREADS = 2**16


@dataclass(frozen=True)
class Settings:
    """One fit as it was asked for: names, figures, and what was left open.

    Parameters
    ----------
    l2 : weight of the regulariser, >= 0; ``None`` for 0, or what the algorithm takes by default.
    epsilon : the budget; ``None`` for 1, and where epsilon is an output.
    epsilon_max : the worst case where epsilon is an output; ``None`` for 5.
    targets : what is asked for there, by the names in ``dpcore.fitting.targets.OPTIONS``.
    relation : ``None`` for add-or-remove-one, or, where the algorithm has no guarantee under that,
        the first that it declares.
    conversion : the accountant's rule from (epsilon, delta) to its unit; ``None`` for its own.
    threads : how many the engine may use; ``None`` for all available.
    use : slot name to the registered name that fills it.
    params : hyper-parameters of the algorithm, as text or as values.
    users : the path of a file of users and their budgets, or ``dpcore.pools.User`` objects, for
        algorithms whose rows stay with users; ``None`` for users of one budget.
    trust : what the server sees there; ``None`` for ``local``.
    seed : makes the run repeatable and the result not private; ``None`` for real noise.
    """

    algo: str = DEFAULT
    loss: str = "logistic"
    l2: float | None = None
    epsilon: float | None = None
    delta: float = 1e-8
    epsilon_max: float | None = None
    targets: Mapping[str, Any] = field(default_factory=dict)
    relation: str | None = None
    accountant: str | None = None
    conversion: str | None = None
    engine: str = "local"
    threads: int | None = None
    use: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    as_published: bool = False
    users: Any = None
    trust: str | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Plan:
    """The parts of one fit, built and checked; nothing of it depends on the data."""

    settings: Settings
    entry: Entry
    optimizer: Optimizer
    use: dict[str, str]
    loss: Loss
    accountant: Accountant
    relation: NeighboringRelation
    engine: type[Engine]
    chosen_by: dict[str, str] | None
    """The name that was asked for, and why it stood for this algorithm, where it is another."""
    targets: tuple[str, ...]
    """``"module:Attribute"`` under which the parts inside the trust boundary are registered: what
    a part says of its own module may be borrowed."""

    def parameters(self) -> dict[str, Any] | None:
        """Return the hyper-parameters as JSON-able data, without the slots; ``None`` where the
        published code ran on constants of its own."""
        if self.settings.as_published:
            return None
        optimizer: Any = self.optimizer
        return {
            f.name: getattr(optimizer, f.name)
            for f in dataclasses.fields(optimizer)
            if f.init and f.name not in ("use", "as_published")
        }

    def why_not_private(self) -> tuple[str, ...]:
        """Return what was asked for that voids the guarantee, as clauses."""
        reasons = []
        if getattr(self.optimizer, "as_published", False):
            verdict = getattr(self.optimizer, "published_is", "which is not sound")
            reasons.append(f"{self.entry.name} ran as its authors published it, {verdict}")
        if not (is_private(self.optimizer) and is_private(self.accountant)):
            reasons.append(f"{self.entry.name} is given exact answers, without noise")
        if self.settings.seed is not None:
            reasons.append("the noise came from a seed")
        return tuple(reasons)


def is_private(part: Any) -> bool:
    """Return whether an optimizer or accountant promises privacy: unless it says that it does not,
    by ``private = False`` in its class."""
    return getattr(type(part), "private", True) is True


def checked_settings(settings: Settings) -> Settings:
    """Return the settings, l2, seed and threads as numbers; InvalidInputError for figures, or a
    relation, that no algorithm can have."""
    from dpcore.accountants.additive import validated_delta

    validated_delta(settings.delta, zero_allowed=True)
    settings = dataclasses.replace(
        settings,
        l2=None if settings.l2 is None else convert("l2", float, settings.l2),
        seed=_checked_whole("seed", settings.seed, 0),
        threads=_checked_whole("threads", settings.threads, 1, _MOST_THREADS),
    )
    if settings.l2 is not None and settings.l2 < 0:
        raise InvalidInputError(f"Expected l2={settings.l2!r} >= 0.")
    if settings.relation is not None:
        parse_relation(settings.relation)
    return settings


def make_plan(settings: Settings, registry: Registry | None = None) -> Plan:
    """Return the parts that the settings name.

    Raises RegistryError for an unknown or failed name, InvalidInputError for a parameter, slot,
    preset or budget that cannot be used.
    """
    registry = registry or load_registry()
    settings, chosen_by = choose(checked_settings(settings), registry)
    try:
        return _planned(settings, chosen_by, registry)
    except DpcoreError as error:
        # Of an algorithm that nobody named it has to be said where it comes from.
        if chosen_by is not None and settings.algo in str(error):
            told = f"{error} ({chosen_by['name']} chose {settings.algo}.)"
            raise type(error)(told) from error
        raise


def _planned(settings: Settings, chosen_by: dict[str, str] | None, registry: Registry) -> Plan:
    entry = registry.get("optimizer", settings.algo)
    factory = load_optimizer(registry, settings.algo)
    relation = parse_relation(settings.relation or usual_relation(factory))
    _check_published(settings)
    _check_users(settings, factory)
    preset = _preset(factory, settings)
    use = _fill_slots(factory, settings, preset)
    epsilon, delta, usual = budget_of(settings, factory, registry)
    if settings.trust == "secure-aggregation":
        usual = factory.secure_accountant
    usual = preset.get("accountant", usual)
    name = settings.accountant or usual
    accountant = registry.load("accountant", name)
    conversion = settings.conversion
    if conversion is None and settings.accountant in (None, usual):
        conversion = preset.get("accountant_conversion")
    filled = {slot: use.get(slot, names[0]) for slot, names in factory.slots.items()}
    parts = [("accountant", name), ("loss", settings.loss), ("engine", settings.engine)]
    parts += [("mechanism", filling) for filling in filled.values()]
    return Plan(
        settings=settings,
        entry=entry,
        optimizer=_build(
            factory, settings, {**preset, **target_values(settings, factory, registry)}, use
        ),
        use=filled,
        loss=registry.load("loss", settings.loss)(),
        accountant=accountant.from_budget(epsilon, delta, conversion),
        relation=relation,
        engine=registry.load("engine", settings.engine),
        chosen_by=chosen_by,
        targets=tuple(registry.get(kind, part).target for kind, part in parts),
    )


def _preset(factory: Any, settings: Settings) -> dict[str, Any]:
    if settings.preset is None:
        return {}
    presets = presets_of(factory)
    if settings.preset not in presets:
        raise InvalidInputError(
            f"{settings.algo} has no preset {settings.preset!r}."
            f"{near_names(settings.preset, presets)}"
        )
    return dict(presets[settings.preset])


def _fill_slots(factory: Any, settings: Settings, preset: Mapping[str, Any]) -> dict[str, str]:
    """Return the slots filled by the preset and, over it, by the user."""
    slots: Mapping[str, tuple[str, ...]] = factory.slots
    for slot, name in settings.use.items():
        if slot not in slots:
            raise InvalidInputError(
                f"{settings.algo} has no slot {slot!r}.{near_names(slot, slots)}"
            )
        if name not in slots[slot]:
            raise InvalidInputError(
                f"The slot {slot} of {settings.algo} cannot hold {name!r}."
                f"{near_names(name, slots[slot])}"
            )
    return {slot: preset[slot] for slot in slots if slot in preset} | dict(settings.use)


def _build(
    factory: Any, settings: Settings, preset: Mapping[str, Any], use: dict[str, str]
) -> Optimizer:
    fields = {f.name for f in dataclasses.fields(factory) if f.init}
    values = convert_all(factory, {n: v for n, v in preset.items() if n in fields})
    values |= convert_all(factory, settings.params, settings.algo)
    if use:
        values["use"] = use
    if settings.as_published:
        if "as_published" not in inspect.signature(factory).parameters:
            raise InvalidInputError(f"{settings.algo} has no published code to reproduce.")
        values["as_published"] = True
    try:
        return factory(**values)
    except DpcoreError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{settings.algo} refuses its parameters: {error}") from error


def _check_published(settings: Settings) -> None:
    """Refuse to set what the authors' code, which has constants of its own, would ignore."""
    asked = {"--set": settings.params, "--use": settings.use, "--preset": settings.preset}
    for option, value in asked.items():
        if settings.as_published and value:
            raise InvalidInputError(
                f"Expected --as-published without {option}: the authors' code runs with its own "
                "constants."
            )


def _check_users(settings: Settings, factory: Any) -> None:
    """Refuse users, and what is said of them, where the algorithm has none; and an engine where the
    rows stay with users."""
    if "user-pool" in factory.needs:
        known = getattr(factory, "trust_models", ("local",))
        if settings.trust not in (None, *known):
            raise InvalidInputError(
                f"{settings.algo} runs under trust {' or '.join(known)}, not {settings.trust!r}."
            )
        if settings.engine != Settings.engine:
            raise InvalidInputError(f"{settings.algo} asks users: no engine sums over their rows.")
        return
    for option, value in {"--users": settings.users, "--trust": settings.trust}.items():
        if value is not None:
            raise InvalidInputError(
                f"{settings.algo} takes no {option}: all its rows are in one place."
            )


def _checked_whole(name: str, value: Any, least: int, most: float = math.inf) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInputError(f"Expected {name}={value!r} to be a whole number >= {least}.")
    if int(value) > most:
        raise InvalidInputError(f"Expected {name}={value!r} to be at most {most}.")
    return int(value)
