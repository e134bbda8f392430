"""A guarantee and a model for those who answer for them: reports, graphs for other programs,
metrics and intervals within the budget, and forecasts."""

from collections.abc import Callable

from dpcore.plugin import hookimpl
from dpcore.plugin.steps import StepOption

__all__: list[str] = []

_COMMANDS = (
    (
        "export",
        "Write a model as an ONNX graph, from cells to scores and labels.",
    ),
    (
        "explain",
        "Say what (epsilon, delta) means, in odds.",
    ),
    (
        "report",
        "Write a report on a model for those who answer for it.",
    ),
    (
        "summary",
        "Print a model's coefficients in the units of its columns.",
    ),
    ("plan", "Forecast what a default fit reaches, from public values alone."),
)


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    for name, summary in _COMMANDS:
        target = f"dpcore_report.commands.{name}:{name}_command"
        register(name, target, summary=summary, group="Before a fit and after it")


_EVALUATION = (
    StepOption(
        "test-fraction",
        "float",
        None,
        "Hold out rows and report on them, without privacy.",
        field="test_fraction",
        shared=True,
    ),
    StepOption(
        "evaluate-share",
        "float",
        None,
        "Release metrics of the rows held out, for this share of the budget: private, in the model "
        "file. In place of the exact ones.",
        field="share",
    ),
    StepOption(
        "evaluate-epsilon",
        "float",
        None,
        "In place of --evaluate-share: the epsilon of these metrics by themselves, at --delta. It "
        "is a part of --epsilon, not beside it.",
        field="epsilon",
    ),
    StepOption(
        "evaluate-by",
        "text",
        None,
        "A column with public categories: the private metrics of each of them too, and the gaps "
        "between them, in place of AUC and calibration.",
        field="by",
        alone="Expected --evaluate-by beside --evaluate-share or --evaluate-epsilon, which ask for "
        "the metrics.",
    ),
)
_CALIBRATION = (
    StepOption(
        "calibrate-share",
        "float",
        None,
        "Correct log odds by counts of the rows, by class and log odds, that are released for this "
        "share of the budget.",
        field="share",
    ),
)
_INTERVALS = (
    StepOption(
        "intervals-share",
        "float",
        None,
        "Release sums behind 95 % intervals of the coefficients, for this share of the budget: "
        "dpcore summary shows them.",
        field="share",
    ),
    StepOption(
        "intervals-anyway",
        "flag",
        False,
        "Try even where hardly any run of this many rows and columns gets intervals.",
        field="anyway",
        alone="Expected --intervals-anyway beside --intervals-share alone, which asks for them.",
    ),
)


@hookimpl
def register_steps(register: Callable[..., None]) -> None:
    register(
        "calibration",
        "dpcore_report.calibration.step:Calibration",
        summary="Log odds brought to how rows come true, by noisy counts.",
        options=_CALIBRATION,
    )
    register(
        "evaluation",
        "dpcore_report.evaluation.step:Evaluation",
        summary="Metrics of the model on rows held out, from noisy counts.",
        options=_EVALUATION,
    )
    register(
        "intervals",
        "dpcore_report.intervals.step:Intervals",
        summary="Standard errors and intervals of coefficients and predictions.",
        options=_INTERVALS,
    )


@hookimpl
def register_exporters(register: Callable[..., None]) -> None:
    register(
        "onnx",
        "dpcore_report.onnx.model:OnnxExporter",
        summary="An ONNX graph, from the cells of rows to scores and labels.",
        suffixes=(".onnx",),
    )
