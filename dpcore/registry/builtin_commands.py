"""The project's own commands, in the order of ``dpcore --help``, by the hook of any plugin."""

from collections.abc import Callable

from dpcore.registry.hookspecs import hookimpl

__all__: list[str] = []


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    for name, place, summary in _COMMANDS:
        register(name, f"dpcore.cli.{place}", summary=summary)


_COMMANDS = (
    ("train", "train:train_command", "Fit a private linear model."),
    (
        "predict",
        "predict:predict_command",
        "Write a CSV line of log_odds and label for each row (margin and label, where the loss is "
        "not logistic).",
    ),
    (
        "list",
        "list:list_command",
        "List the algorithms and parts that are installed, and the plugins that failed.",
    ),
    (
        "info",
        "info:info_command",
        "Show parameters, slots, needs, relations, theorem and departures of one entry, or what a "
        "model predicts, from which columns, and what it guarantees.",
    ),
    (
        "account",
        "account:account_command",
        "Print what (epsilon, delta) buys: the budget in each accountant's unit (rho, mu^2), and "
        "the noise multiplier of one Gaussian release that takes all of it.",
    ),
)
