"""auto: the algorithm that is taken where nobody names one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, Slot
from dpcore.plugin.parts import (
    LossFacts,
    PureAccountant,
    load_registry,
)
from dpcore_baselines.dp_gd import DpGd
from dpcore_baselines.expected_utility import expected_utility_of
from dpcore_baselines.objpert import ObjPert
from dpcore_baselines.privgene import PrivGene

if TYPE_CHECKING:
    from dpcore.plugin import (
        Accountant,
        ExpectedUtility,
        Loss,
        PrivacySession,
        Problem,
        Settings,
        Solution,
    )

__all__ = ["Auto"]

_FOR_SQUARES = "gram-ridge"
"""Of dpcore-adassp, which has this distribution as a dependency: so by its name."""
_FOR_TARGETS = {
    (True, True): "cov-bnr",
    (False, True): "output-bnr",
    (True, False): "cov-nr",
    (False, False): "output-nr",
}
"""Of dpcore-accuracy-first, by whether the loss is squared and whether delta is above 0."""


@dataclass(frozen=True, kw_only=True)
class Auto:
    """Runs another algorithm, chosen by what is asked for and by nothing else.

    With a target in place of epsilon ``output-bnr``, or ``cov-bnr`` for squared loss; with
    delta = 0 ``output-nr`` and ``cov-nr``.
    With delta > 0, ``dp-gd`` with its own defaults, for every loss and under either relation; for
    squared loss ``gram-ridge`` where that is installed, which is near the mean where rows are few,
    and runs ``dp-gd`` itself on wide tables of much signal. With delta = 0 (or the accountant
    ``pure``): ``objpert`` with its gamma noise for convex losses of bounded slope and curvature,
    such as ``logistic``, and ``privgene`` for any other, and where units have several rows, for
    which ``objpert`` has no proof. With the accountant ``single``, which bounds one release:
    ``objpert``.
    What is given in ``--set`` and ``--use`` goes to the algorithm that was chosen; its own rules
    choose the parameters, from public facts and charged releases. The report names it and says why.
    """

    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "auto"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = DpGd.relations
    needs: ClassVar[tuple[str, ...]] = ()
    multiclass: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "that of the algorithm chosen; see dpcore info dp-gd, gram-ridge, objpert, privgene, "
        "output-bnr, cov-bnr"
    )

    @classmethod
    def choose(cls, settings: Settings) -> tuple[Settings, str]:
        """Return the settings with an algorithm in the place of ``auto``, and why it is that."""
        if any(value is not None for value in settings.targets.values()):
            return cls._choose_for_target(settings)
        if settings.delta == 0 or settings.accountant == PureAccountant.name:
            name = settings.accountant or PureAccountant.name
            return cls._choose_pure(replace(settings, accountant=name))
        if (
            settings.accountant == ObjPert.accountant
            and not LossFacts.of(_loss(settings)).multiclass
        ):
            return replace(settings, algo=ObjPert.name), "this accountant bounds a single release"
        is_plain = settings.weight_bound is None  # A matrix of products is of rows that weigh 1.
        if LossFacts.of(_loss(settings)).quadratic and is_plain and _is_installed(_FOR_SQUARES):
            why = "its noisy sums of products suit squared loss where delta is above 0"
            return replace(settings, algo=_FOR_SQUARES), why
        why = "it fits every loss where delta is above 0"
        return replace(settings, algo=DpGd.name, params=_counted_once(settings)), why

    @classmethod
    def _choose_for_target(cls, settings: Settings) -> tuple[Settings, str]:
        is_squared, has_delta = LossFacts.of(_loss(settings)).quadratic, settings.delta > 0
        name = _FOR_TARGETS[is_squared, has_delta]
        if not _is_installed(name):
            raise InvalidInputError(
                f"Targets are for {name}, which is not installed. It is in "
                "dpcore-accuracy-first: pip install . plugins/* in a checkout of dpcore, or its "
                "wheel."
            )
        noise = "normal noise, half of the cost of a test" if has_delta else "pure epsilon"
        where = "X'X and X'y, for squared loss" if is_squared else "the minimiser"
        why = f"for a target it reduces the noise on {where} until that is met, with {noise}"
        return replace(settings, algo=name), why

    @classmethod
    def _choose_pure(cls, settings: Settings) -> tuple[Settings, str]:
        if LossFacts.of(_loss(settings)).multiclass:
            raise InvalidInputError(
                "auto has no algorithm of pure epsilon for three classes or more; pass a delta "
                "above 0, such as 1e-6, and no pure accountant."
            )
        if settings.units:
            why = "for pure epsilon and units of several rows, it selects, which holds for units"
            return replace(settings, algo=PrivGene.name), why
        if _bends(settings):
            use = {"noise": "gamma", **settings.use}
            why = "for pure epsilon and a smooth loss of bounded slope, it releases a minimiser"
            return replace(settings, algo=ObjPert.name, use=use), why
        why = "for pure epsilon and a loss without bounded slope and curvature, it makes selections"
        return replace(settings, algo=PrivGene.name), why

    @classmethod
    def expected_utility(cls, problem: Problem, accountant: Accountant) -> ExpectedUtility | None:
        """Return the expected utility of what is chosen, with its own defaults."""
        if not (problem.loss.classification or _is_installed(_FOR_SQUARES)):
            return None
        return expected_utility_of(problem, accountant)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        """Return what the choice for the session's accountant with delta > 0 does; a fit itself
        runs the algorithm that ``choose`` names."""
        return DpGd().minimize(problem, session)


def _bends(settings: Settings) -> bool:
    """Return whether objective perturbation takes the loss, with its parameters."""
    facts = LossFacts.of(_loss(settings))
    return facts.convex and math.isfinite(facts.lipschitz) and math.isfinite(facts.smoothness)


def _counted_once(settings: Settings) -> Mapping[str, Any]:
    """Return the parameters by which dp-gd leaves the counts of log odds to a step, if one asks."""
    counted = any(step.name == "calibration" for step in settings.also)
    return {"calibrate_share": 0, **settings.params} if counted else settings.params


def _loss(settings: Settings) -> Loss:
    """Return the loss that is asked for, with its parameters."""
    return settings.make_loss()


def _is_installed(name: str) -> bool:
    return any(entry.name == name for entry in load_registry().entries("optimizer"))
