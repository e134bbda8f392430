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
        "export",
        "export:export_command",
        "Write a model as an ONNX graph, from the cells of rows to scores and labels.",
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
    (
        "explain",
        "explain:explain_command",
        "Say what (epsilon, delta) means: how sure someone can become of you, how often an attack "
        "is right, and what to consider when choosing.",
    ),
    (
        "report",
        "report:report_command",
        "Write a report on a model for those who answer for it: what was fitted, whose privacy, "
        "what the guarantee means in odds, what was spent, what is public, what is outside.",
    ),
    (
        "summary",
        "summary_model:summary_command",
        "Print each coefficient per unit of its column, and per standard deviation of the column's "
        "public range, so that columns can be compared.",
    ),
    (
        "plan",
        "plan:plan_command",
        "Say what a default fit may be expected to reach, from public figures alone.",
    ),
    (
        "schema",
        "schema:schema_command",
        "Write a schema template (TOML) to standard output, or check one against the rows.",
    ),
    (
        "convert",
        "convert:convert_command",
        "Convert a file of rows to a store for tables larger than memory.",
    ),
    ("ledger", "ledger:ledger_commands", "Keep what all runs over a table have cost."),
)
