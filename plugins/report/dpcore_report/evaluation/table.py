"""Metrics of a private evaluation as a table: one row for each, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpcore.plugin.steps import Section
from dpcore_report.evaluation.old_names import warn_of_old_name
from dpcore_report.frames import frame_of, table_of

__all__ = ["Metrics", "records_of"]

_OF_CLASSES = ("recall", "precision", "f1", "auc_of_class")
_ENDS = ("value", "low", "high")


class Metrics(Section):
    """The metrics of a model, in words, as a frame, and as a table in a notebook."""

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, a row for each metric: its ``group`` and its class or bin,
        ``of``, where metrics have some, its name ``figure``, ``value``, ``low`` and ``high``. A
        metric that noise swallows has no value.

        Raises InvalidInputError where pandas is not installed.
        """
        return frame_of(records_of(self.data))

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        rows = [_cells(record) for record in records_of(self.data)]
        return table_of(("group", "metric", "of", "value", "95 % interval"), rows, "metrics")


def __getattr__(name: str) -> Any:
    """Return ``Metrics`` by the name that it had, with a warning."""
    if name != "Figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_of_old_name(f"{__name__}.Figures", f"{__name__}.Metrics")
    return Metrics


def records_of(metrics: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the metrics of a model, those of all rows, of each class and of each bin first, then
    those of each group and the gaps between groups."""
    for name, metric in metrics.items():
        if _is_metric(metric):
            yield _record(name, metric)
        elif name in _OF_CLASSES:
            yield from (_record(name, each, of=of) for of, each in metric.items())
    for each in metrics.get("calibration", ()):
        told = f"{each['from']:g} to {each['to']:g}"
        yield from (_record(name, each[name], of=told) for name in ("rows", "came_true"))
    if "by" not in metrics:
        return
    for group, each in metrics["by"]["groups"].items():
        yield _record("rows", each["rows"], group=group)
        yield from (_record(name, of, group=group) for name, of in each["figures"].items())
    for gap in metrics["by"]["gaps"]:
        between = f"{gap['highest']} over {gap['lowest']}"
        yield _record(f"gap in {gap['figure']}", gap, group=between)


def _is_metric(found: Any) -> bool:
    return isinstance(found, Mapping) and found.keys() == {*_ENDS}


def _record(
    name: str, metric: Mapping[str, Any], group: str | None = None, of: str | None = None
) -> dict[str, Any]:
    ends = {end: metric[end] for end in _ENDS}
    return {"group": group, "figure": name, "of": of, **ends}


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    value, low, high = (record[end] for end in _ENDS)
    told = "unknown" if value is None else f"{value:.4g}"
    reach = "" if None in (low, high) else f"[{low:.4g}, {high:.4g}]"
    return record["group"] or "", record["figure"], record["of"] or "", told, reach
