"""Checks, audits and comparisons of algorithms and parts, as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []

_COMMANDS = (
    (
        "compare",
        "Compare algorithms with one relation, one loss, the same folds.",
    ),
    ("plot", "Show results of dpcore compare, a model, or a ledger's budget."),
    ("check", "Run the checks of a part; exit 1 if one fails."),
    (
        "audit",
        "Test an algorithm's claim on made tables that differ in one row.",
    ),
)


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    for name, summary in _COMMANDS:
        target = f"dpcore_lab.commands.{name}:{name}_command"
        register(name, target, summary=summary, group="Comparisons and checks")
