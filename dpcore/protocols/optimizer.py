"""A paper's algorithm: the one method that is called, and the facts that its class states."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from dpcore.protocols.problem import Problem, Solution
    from dpcore.protocols.session import PrivacySession
    from dpcore.registry.slots import Slot

__all__ = ["Optimizer"]


@runtime_checkable
class Optimizer(Protocol):
    """A frozen dataclass whose fields are the hyper-parameters of an algorithm.

    It sees public facts (``problem``) and released values (``session``), nothing else. What its
    class states has to be stated by every optimizer; all else that may be, with the defaults, is in
    ``dpcore.registry.tables.optimizer_spec.OptimizerFacts`` and in ``docs/plugins.md``.
    """

    slots: ClassVar[dict[str, Slot]]
    """Slot name -> what can fill it."""
    relations: ClassVar[tuple[str, ...]]
    needs: ClassVar[tuple[str, ...]]

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution: ...
