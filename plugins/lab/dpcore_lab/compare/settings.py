"""A comparison as frozen data: its fits, and the metrics that are written of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.plugin import Loss, NeighboringRelation, Settings
from dpcore.plugin.commands import DataRequest

__all__ = [
    "AS_PUBLISHED",
    "CAPPED",
    "REFERENCES",
    "STATEMENT",
    "Cell",
    "Comparison",
    "cells_of",
    "check_alone",
    "check_numbers",
    "loss_in_words",
    "loss_with",
]

REFERENCES = ("majority", "nonprivate")
"""Fitted once per fold beside the algorithms, without privacy: the lines of a figure."""

AS_PUBLISHED = "as-published"

CAPPED = "capped"
"""The status of an external's fit that reached a cap of time or memory."""

_MOST = 1000
"""Folds, and repeats: a public value, since the number of private rows cannot bound them."""

STATEMENT = (
    "Accuracy, AUC, macro F1, errors, R2, objective and seconds (exact_... in the results file) "
    "are computed WITHOUT privacy. "
    "An accuracy is a fraction of a fold's rows, and so tells how many rows there are. Choosing an "
    "algorithm or a parameter by them on private data is itself a release, which no budget here "
    "covers."
)


def shown_name(label: str, *, unsound: bool = False, guarantee: str | None = None) -> str:
    """Return a label as tables and figures name it: marked where it has no guarantee, or by what is
    said of that of an external."""
    if guarantee:
        return f"{label} ({guarantee})"
    unsound = unsound or label in REFERENCES or label.endswith(f":{AS_PUBLISHED}")
    return f"{label} (not private)" if unsound else label


def loss_in_words(settings: Mapping[str, Any]) -> str:
    """Return the loss of a comparison's settings (``Comparison.to_dict``) and its parameters, and
    whether it is that of each class against the rest."""
    each = ", each class against the rest" if settings.get("multiclass") else ""
    parameters = settings.get("params", {}).get(Settings.OF_LOSS, {})
    bound = settings.get("weight_bound")
    return Settings.shown_loss(settings["loss"], parameters, None, bound) + each


@dataclass(frozen=True)
class Comparison:
    """The settings of a comparison: one loss and one relation for all of it.

    Parameters
    ----------
    algorithms : labels: an optimizer's name, ``NAME:PRESET``, or ``NAME:as-published``; none where
        the references alone are compared.
    data : names of data sets, which count as public benchmarks, or paths, whose rows are private.
    epsilons, delta : the budget of each fit by itself.
    folds, repeats : every algorithm is fitted ``repeats`` times on all rows but each fold's.
    schema : path of the TOML file for the paths among ``data``.
    params : for a label, what ``--set`` gives its parameters; for ``loss``, those of the loss.
    use : for a label, what ``--use`` fills its slots with: registered names.
    l2 : weight of the regulariser; ``None`` for each algorithm's own default, and 0 in the
        objective that all are measured by.
    seed : makes all noise repeatable, and the folds of private rows; no fit is private then.
    references : those of ``REFERENCES`` that the loss has a use for, or that are compared alone.
    trust : what the server of users sees; ``None`` for the first trust model there is.
    multiclass : ``"ovr"`` for fits of each class against the rest.
    externals : the labels that are external algorithms (``dpcore_lab.externals``).
    caps : of each fit of theirs, in seconds and in GiB of memory.
    weight, weight_bound : the column of the files' rows that has their weights, and the public
        bound of these.
    """

    algorithms: tuple[str, ...]
    data: tuple[str, ...]
    epsilons: tuple[float, ...]
    delta: float = 1e-8
    folds: int = 5
    repeats: int = 1
    loss: str = "logistic"
    l2: float | None = None
    relation: str = NeighboringRelation.ADD_OR_REMOVE_ONE.value
    schema: str | None = None
    params: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seed: int | None = None
    references: tuple[str, ...] = REFERENCES
    trust: str | None = None
    multiclass: str | None = None
    use: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    externals: tuple[str, ...] = ()
    caps: tuple[float, float] = (600.0, 4.0)
    weight: str | None = None
    weight_bound: float | None = None

    @property
    def measured_l2(self) -> float:
        """The l2 of the objective that is measured, the same for every algorithm."""
        return self.l2 or 0.0

    def shown_loss(self, loss: Loss) -> str:
        """Return the loss, its parameters and the bound of rows' weights as one reads them."""
        parameters = Settings.loss_parameters(loss)
        return Settings.shown_loss(self.loss, parameters, None, self.weight_bound)

    @property
    def loss_params(self) -> Mapping[str, str]:
        """The parameters of the loss, the same for every algorithm."""
        return self.params.get(Settings.OF_LOSS, {})

    @property
    def labels_set(self) -> tuple[str, ...]:
        """The algorithms that have parameters set, or slots filled."""
        return tuple(
            dict.fromkeys(label for label in (*self.params, *self.use) if label != Settings.OF_LOSS)
        )

    def quick(self) -> Comparison:
        """Return the same comparison of one repeat, and of the least and the largest epsilon."""
        ends = dict.fromkeys((min(self.epsilons), max(self.epsilons)))
        return replace(self, repeats=1, epsilons=tuple(ends))

    def with_nothing_set(self) -> Comparison:
        """Return the same comparison with the algorithms' parameters left to them."""
        return replace(self, params={Settings.OF_LOSS: self.loss_params}, use={})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON-able data; some only where they were asked for, so that
        results of before there were any go on."""
        settings = asdict(self)
        if not self.externals:
            del settings["caps"]
        for name in ("trust", "multiclass", "use", "externals", "weight", "weight_bound"):
            if not settings[name]:
                del settings[name]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}

    @property
    def _requests(self) -> list[DataRequest]:
        schema = None if self.schema is None else Path(self.schema)
        return [DataRequest(name, schema) for name in self.data]

    def settings(
        self, label: str, epsilon: float, seed: int | None = None, threads: int | None = None
    ) -> Settings:
        """Return one fit of an algorithm as ``dpcore train`` would be asked for it."""
        algo, _, variant = label.partition(":")
        is_chosen = algo == Settings.default_algorithm()
        of_loss = _as_set(self.loss_params)
        return Settings(
            algo=algo,
            loss=self.loss,
            l2=self.l2,
            epsilon=epsilon,
            delta=self.delta,
            relation=self.relation,
            threads=threads,
            params={**self.params.get(label, {}), **of_loss},
            use=dict(self.use.get(label, {})),
            preset=variant if variant and variant != AS_PUBLISHED else None,
            as_published=variant == AS_PUBLISHED,
            trust=self.trust,
            units=is_chosen and any(request.has_units for request in self._requests),
            seed=seed,
            multiclass=self.multiclass,
            weight_bound=self.weight_bound,
        )


@dataclass(frozen=True)
class Cell:
    """One fit of a comparison. ``epsilon`` : ``None`` for a reference, which takes none."""

    data: str
    fold: int
    algorithm: str
    epsilon: float | None
    repeat: int

    def seed(self, seed: int | None) -> int | None:
        """Return the seed of this fit's noise, below 2^63. It depends on the comparison's seed and
        on the cell alone, so neither on the order of the fits nor on what else is compared."""
        if seed is None or self.epsilon is None:
            return None
        text = repr((seed, self.data, self.fold, self.algorithm, self.epsilon, self.repeat))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def cells_of(comparison: Comparison) -> Iterator[Cell]:
    """Yield the fits in the order of the results: fold by fold, so that rows are cut once."""
    for data in comparison.data:
        for fold in range(comparison.folds):
            for reference in comparison.references:
                yield Cell(data, fold, reference, None, 0)
            for algorithm in comparison.algorithms:
                for epsilon in comparison.epsilons:
                    for repeat in range(comparison.repeats):
                        yield Cell(data, fold, algorithm, epsilon, repeat)


def check_numbers(comparison: Comparison) -> None:
    """Raise InvalidInputError for numbers that no comparison can have, or a name given twice."""
    from dpcore.plugin.parts import AdditiveAccountant

    for name, value, least in (("folds", comparison.folds, 2), ("repeats", comparison.repeats, 1)):
        if not least <= value <= _MOST:
            raise InvalidInputError(f"Expected {name}={value} from {least} to {_MOST}.")
    for epsilon in comparison.epsilons:
        AdditiveAccountant.validated_epsilon(epsilon)
    AdditiveAccountant.validated_delta(comparison.delta, zero_allowed=True)
    for what in ("algorithms", "data", "epsilons"):
        values = getattr(comparison, what)
        if not values:
            raise InvalidInputError(f"Expected at least one of {what}.")
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise InvalidInputError(f"{twice!r} is twice among the {what}.")
    check_alone(comparison.algorithms)
    unset = (label for label in comparison.labels_set if label not in comparison.algorithms)
    unknown = next(unset, "")
    if unknown and comparison.algorithms != ("all",):
        known = ", ".join(comparison.algorithms)
        option = "--set" if unknown in comparison.params else "--use"
        raise InvalidInputError(
            f"{option} names {unknown!r}, which is not among the algorithms: {known}."
        )


def check_alone(labels: Sequence[str]) -> None:
    """Raise InvalidInputError where ``all`` is beside a name."""
    if "all" in labels and len(labels) > 1:
        raise InvalidInputError(
            "Expected 'all', which means every algorithm that fits, by itself: --algos all."
        )


def loss_with(name: str, params: Mapping[str, Any]) -> Loss:
    """Return the loss of a name with these parameters. Raises as ``Settings.make_loss``."""
    return Settings(loss=name, params=_as_set(params)).make_loss()


def _as_set(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a loss as they are set."""
    return {f"{Settings.OF_LOSS}.{name}": value for name, value in params.items()}
