"""``dpcore acme-once``: a fit with the options of ``dpcore train``, by the public plan and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from dpcore.plugin.commands import Option, Run, make_plan

if TYPE_CHECKING:
    from dpcore.plugin.commands import DataRequest, LedgerRequest

__all__ = ["once"]


def once(
    fit: Annotated[Any, "options"],
    loss: Annotated[str | None, Option(help="The loss of the fit.")] = None,
) -> None:
    """Fit a model at epsilon 1."""
    plan = make_plan(fit.settings(loss, epsilon=1))

    def by(rows: DataRequest, charges: Any, ledger: LedgerRequest) -> Any:
        return Run.train(plan, rows, charges=charges)

    fit.run(by)
