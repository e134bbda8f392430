"""The settings of a fit: what was asked for, as frozen data, and what no algorithm could have."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.fitting.planning.compatibility import check_label
from dpcore.fitting.planning.losses import OF_LOSS, has_parameters, make_loss
from dpcore.fitting.steps.facts import step_facts
from dpcore.fitting.steps.weights import checked_weights, weighing
from dpcore.model.rendering import shown_loss
from dpcore.moved import where_to_get
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import Registry, load_registry
from dpcore.registry.parameters import convert, describe_parameters

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.protocols import Loss

__all__ = [
    "OF_MORE",
    "OF_NUMBERS",
    "OF_TWO",
    "Settings",
    "option_of",
]

_MOST_THREADS = 2**16
OF_TWO, OF_MORE, OF_NUMBERS = "logistic", "softmax", "ridge"
"""Losses of a run that names none: of two classes, of more, of a number."""


@dataclass(frozen=True)
class Settings:
    """The settings of one fit, as given, with ``None`` for what was left open.

    Parameters
    ----------
    algo : an optimizer's name; empty for the default algorithm.
    l2 : weight of the regulariser, >= 0; ``None`` for 0, or what the algorithm takes by default.
    epsilon : the budget; ``None`` for 1, and where it is an output.
    rho, mu : the budget in the unit of the zcdp or gdp filter, in place of epsilon, which follows
        from it at ``delta``.
    epsilon_max : the worst case where epsilon is an output; ``None`` for 5.
    targets : what is asked for there, by name (``targets`` of an algorithm).
    relation : ``None`` for add-or-remove-one, or, where the algorithm has no guarantee under that,
        the first that it declares.
    conversion : the accountant's rule from (epsilon, delta) to its unit; ``None`` for its own.
    threads : how many the engine may use; ``None`` for all available.
    use : slot name to the registered name that fills it.
    params : hyper-parameters of the algorithm, and those of the loss as ``loss.NAME``, as text or
        as values.
    users : the path of a file of users and their budgets, or ``User`` objects, for
        algorithms whose rows stay with users; ``None`` for users of one budget.
    trust : what the server sees there; ``None`` for ``local``.
    units : whether neighbours differ in units of several rows, as the schema or the request says;
        a choice of algorithm may go by it.
    class_weight : a public weight by class; ``None`` for no weights.
    weight_bound : the public bound of weights that rows come with; ``None`` for rows without.
    also : steps beside the fit, each with a share of the budget (``dpcore.plugin.steps``).
    seed : makes the run repeatable and the result not private; ``None`` for real noise.
    multiclass : ``"ovr"`` for a fit of each of three classes and more against the rest, by a loss
        for two; ``None`` for one fit of all.

    Examples
    --------
    >>> from dpcore.plugin import Settings
    >>> Settings(epsilon=0.5, params={"steps": 20}).delta
    1e-08
    """

    algo: str = ""
    loss: str = "logistic"
    l2: float | None = None
    epsilon: float | None = None
    delta: float = 1e-8
    rho: float | None = None
    mu: float | None = None
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
    units: bool = False
    class_weight: Mapping[Any, Any] | None = None
    weight_bound: float | None = None
    seed: int | None = None
    multiclass: str | None = None
    also: tuple[Any, ...] = ()

    NATIVE_BUDGETS: ClassVar[Mapping[str, str]] = {"rho": "zcdp", "mu": "gdp"}
    """Budgets in the unit of a filter, with its accountant."""
    OVR: ClassVar[str] = "ovr"
    """One-vs-rest, the one value of ``multiclass``."""
    OF_LOSS: ClassVar[str] = OF_LOSS
    """The first word of a loss's parameter, before the dot."""
    check_label = staticmethod(check_label)
    shown_loss = staticmethod(shown_loss)

    def make_loss(self, registry: Registry | None = None) -> Loss:
        """Return the loss of that name with its parameters: text is parsed, Python values are
        checked.

        Raises RegistryError for an unknown name, InvalidInputError for a parameter that the loss
        does not have or take.

        Examples
        --------
        >>> from dpcore.plugin import Settings
        >>> Settings(loss="quantile", params={"loss.tau": 0.9}).make_loss()
        Quantile(tau=0.9, half_width=None)
        """
        return make_loss(self.loss, self.params_apart(self.params)[1], registry or load_registry())

    @staticmethod
    def default_algorithm() -> str:
        """Return the name of the algorithm of a run that names none, as its distribution registers
        it.

        Raises RegistryError where none is installed, or more than one.
        """
        found = [e for e in load_registry("optimizer").entries("optimizer") if e.data["default"]]
        if len(found) == 1:
            return found[0].name
        whose = " and ".join(f"{e.name} of {e.distribution} {e.version}" for e in found)
        why = f"More than one algorithm is the default: {whose}. Uninstall one, or name"
        if not found:
            where = where_to_get("default", "algorithm")
            why = f"No default algorithm is installed. {where} Or name"
        raise RegistryError(f"{why} an algorithm: --algo (algo=), of `dpcore list optimizers`.")

    @staticmethod
    def usual_loss(*schemas: Schema | None) -> str:
        """Return the loss of a run that names none, by its labels.

        It is for numbers where all are, for three classes or more where all have these, and else
        for two, which any other label refuses with the losses that fit it. ``None`` : a schema that
        is not known yet.
        """
        labels = [None if schema is None else schema.label for schema in schemas]
        if labels and all(label is not None and label.is_real for label in labels):
            return OF_NUMBERS
        several = [label is not None and label.n_classes > 2 for label in labels]
        return OF_MORE if several and all(several) else OF_TWO

    @staticmethod
    def public_weights(texts: Sequence[str] | None) -> Any:
        """Return the weights of a command line, ``None`` where there are none or a step is to
        release them."""
        return weighing().public_weights(texts) if texts else None

    @staticmethod
    def loss_parameters(loss: Loss) -> dict[str, Any]:
        """Return the parameters of a loss, public facts of a run; empty if it has none."""
        kind = type(loss)
        stated = describe_parameters(kind) if has_parameters(kind) else ()
        return {parameter.name: getattr(loss, parameter.name) for parameter in stated}

    def checked(self) -> Settings:
        """Return the settings, with l2, seed and threads as numbers; InvalidInputError for values,
        or a relation, that no algorithm can have."""
        from dpcore.accountants.additive import AdditiveAccountant

        AdditiveAccountant.validated_delta(self.delta, zero_allowed=True)
        class_weight, bound = checked_weights(self.class_weight, self.weight_bound)
        settings = dataclasses.replace(
            self,
            class_weight=class_weight,
            weight_bound=bound,
            l2=None if self.l2 is None else convert("l2", float, self.l2),
            seed=_checked_whole("seed", self.seed, 0),
            threads=_checked_whole("threads", self.threads, 1, _MOST_THREADS),
        )
        for step in settings.also:
            step_facts(step)
        if settings.l2 is not None and settings.l2 < 0:
            raise InvalidInputError(f"Expected l2={settings.l2!r} >= 0.")
        if settings.multiclass not in (None, self.OVR):
            raise InvalidInputError(
                f"Expected multiclass={settings.multiclass!r} to be {self.OVR}, or left out."
            )
        if settings.relation is not None:
            NeighboringRelation.parse(settings.relation)
        return _with_accountant_of_native_budget(settings)

    def native_budget(self) -> tuple[str, float] | None:
        """Return the name and value of a budget in a filter's unit; ``None`` where epsilon is."""
        given = [(name, getattr(self, name)) for name in self.NATIVE_BUDGETS]
        return next(((name, value) for name, value in given if value is not None), None)

    @staticmethod
    def params_apart(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the algorithm, and those of the loss."""
        start = f"{Settings.OF_LOSS}."
        of_loss = {k.removeprefix(start): v for k, v in params.items() if k.startswith(start)}
        return {k: v for k, v in params.items() if not k.startswith(start)}, of_loss

    @property
    def test_fraction(self) -> float | None:
        """The share of the rows that steps want held out: the same for all of them."""
        asked = {step_facts(step).test_fraction for step in self.also} - {None}
        if len(asked) > 1:
            raise InvalidInputError(
                "Expected one test_fraction of all steps: rows are held out once."
            )
        return next(iter(asked), None)

    @property
    def are_weighted(self) -> bool:
        """Whether classes or rows have weights."""
        weights = self.class_weight, self.largest_class_weight, self.weight_bound
        return any(weight is not None for weight in weights)

    @property
    def largest_class_weight(self) -> float | None:
        """The most that weights of classes may come to which a step gives; ``None`` for none."""
        given = (step_facts(step).largest_weight for step in self.also)
        return next((largest for largest in given if largest is not None), None)


def _with_accountant_of_native_budget(settings: Settings) -> Settings:
    """Return the settings with the accountant whose unit the budget is in, if it is one's;
    InvalidInputError where anything else contradicts it."""
    if (native := settings.native_budget()) is None:
        return settings
    name, value = native
    asked = {
        key: getattr(settings, key) for key in ("epsilon", "epsilon_max", *settings.NATIVE_BUDGETS)
    }
    others = [key for key, given in asked.items() if key != name and given is not None]
    if others:
        raise InvalidInputError(
            f"Expected {option_of(name)} or {option_of(others[0])}, not both: each is a budget."
        )
    own = settings.NATIVE_BUDGETS[name]
    if settings.accountant not in (None, own):
        raise InvalidInputError(
            f"{option_of(name)} is a budget of the {own} accountant, not of {settings.accountant}."
        )
    if settings.delta == 0:
        raise InvalidInputError(
            f"Expected {option_of('delta')} > 0 beside {option_of(name)}: epsilon follows from "
            "both."
        )
    value = convert(name, float, value)
    if not (math.isfinite(value) and value > 0):
        raise InvalidInputError(f"Expected {name}={value!r} to be finite and > 0.")
    changed: dict[str, Any] = {name: value, "accountant": own}
    return dataclasses.replace(settings, **changed)


def _checked_whole(name: str, value: Any, least: int, most: float = math.inf) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInputError(f"Expected {name}={value!r} to be a whole number >= {least}.")
    if int(value) > most:
        raise InvalidInputError(f"Expected {name}={value!r} to be at most {most}.")
    return int(value)


def option_of(name: str) -> str:
    """Return a setting as both readers write it.

    Examples
    --------
    >>> option_of("epsilon_max")
    '--epsilon-max (epsilon_max=)'
    """
    return f"--{name.replace('_', '-')} ({name}=)"
