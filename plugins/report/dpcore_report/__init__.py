"""A guarantee and a model for those who answer for them: in words, as a page, as a graph that other
programs run; and what to expect of a run before it is made."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []

_COMMANDS = (
    (
        "export",
        "Write a model as an ONNX graph, from the cells of rows to scores and labels.",
    ),
    (
        "explain",
        "Say what (epsilon, delta) means: how sure someone can become of you, how often an attack "
        "is right, and what to consider when choosing.",
    ),
    (
        "report",
        "Write a report on a model for those who answer for it: what was fitted, whose privacy, "
        "what the guarantee means in odds, what was spent, what is public, what is outside.",
    ),
    (
        "summary",
        "Print each coefficient per unit of its column, and per standard deviation of the column's "
        "public range, so that columns can be compared.",
    ),
    ("plan", "Say what a default fit may be expected to reach, from public figures alone."),
)


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    for name, summary in _COMMANDS:
        target = f"dpcore_report.commands.{name}:{name}_command"
        register(name, target, summary=summary, group="Before a fit and after it")


@hookimpl
def register_exporters(register: Callable[..., None]) -> None:
    register(
        "onnx",
        "dpcore_report.onnx.model:OnnxExporter",
        summary="An ONNX graph, from the cells of rows to scores and labels.",
        suffixes=(".onnx",),
    )
