"""A private evaluation in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore_report.evaluation.group_text import groups_in_words

__all__ = ["evaluation_in_words"]

_MOST_CLASSES = 20
_UNKNOWN = "unknown (too few such rows for the noise)"


def evaluation_in_words(metrics: Mapping[str, Any], *, private: bool) -> list[str]:
    """Return lines about a model's released metrics, each with its interval; none of none.

    ``private`` : whether the run of the model guarantees anything: if it does not, whoever can
    draw its noise again has the exact counts.
    """
    if not metrics:
        return []
    if "bounds" in metrics:
        *lines, verdict = _of_errors(metrics, private)
        return [*lines, *groups_in_words(metrics), verdict]
    if "clip" in metrics:
        return _of_clipped_errors(metrics, private)
    accuracy = (
        f"  accuracy {_share(metrics['accuracy'])}; always predicting "
        f"{metrics['constant_class']!r}: {_share(metrics['constant_accuracy'])}"
    )
    lines = [_heading(metrics, private), *_in_order(accuracy, metrics)]
    if "auc_of_bins" in metrics:
        lines.append(f"  AUC of scores in public bins: {_share(metrics['auc_of_bins'])}")
    if "macro_auc" in metrics:
        lines.append(
            f"  macro AUC, of each class against all others, in public bins of the margin over the "
            f"next class: {_share(metrics['macro_auc'])}"
        )
    if len(metrics["recall"]) <= _MOST_CLASSES:
        lines += [
            f"  class {name}: recall {_share(recall)}, precision "
            f"{_share(metrics['precision'][name])}{_f1(metrics, name)}"
            for name, recall in metrics["recall"].items()
        ]
    unit = "times the largest weight" if "largest_weight" in metrics else "rows"
    lines += [f"  {_bin(each, unit)}" for each in metrics.get("calibration", ())]
    lines += groups_in_words(metrics)
    return [*lines, *([metrics["verdict"]] if metrics["verdict"] else [])]


def _in_order(accuracy: str, metrics: Mapping[str, Any]) -> list[str]:
    """Return the lines of accuracy and of macro F1, the second first where a class is rare; of a
    model file of before, which has no F1, the first alone."""
    if "macro_f1" not in metrics:
        return [accuracy]
    f1 = f"  macro F1 {_share(metrics['macro_f1'])}, in which every class counts the same"
    rare = metrics["rare_class"]
    if rare is None:
        return [accuracy, f1]
    return [f"{f1} ({rare!r} is rare)", accuracy]


def _heading(metrics: Mapping[str, Any], private: bool) -> str:
    how = "released within the budget" if private else "NOT PRIVATE, as the model is not"
    rows = f"On about {_count(metrics['held_out_rows'])} rows held out"
    if "largest_weight" in metrics:
        largest = f"the largest weight, {metrics['largest_weight']:g}"
        rows = f"On rows held out that weigh {_count(metrics['held_out_rows'])} times {largest}"
    return f"{rows}, {how}, with 95 % intervals for noise and sampling:"


def _f1(metrics: Mapping[str, Any], name: str) -> str:
    return f", F1 {_share(metrics['f1'][name])}" if "f1" in metrics else ""


def _of_errors(metrics: Mapping[str, Any], private: bool) -> list[str]:
    lower, upper = metrics["bounds"]
    return [
        _heading(metrics, private),
        f"  RMSE {_number(metrics['rmse'])}{_mae(metrics)}; RMSE of always the mean: "
        f"{_number(metrics['mean_rmse'])}; the mean: {_number(metrics['mean'])}",
        f"  R2 {_number(metrics['r2'])}; targets and predictions are held to their bounds, "
        f"{lower:.6g} to {upper:.6g}",
        metrics["verdict"],
    ]


def _mae(metrics: Mapping[str, Any]) -> str:
    """Return the mean absolute error, which a model file of before has not."""
    return f"; MAE {_number(metrics['mae'])}" if "mae" in metrics else ""


def _of_clipped_errors(metrics: Mapping[str, Any], private: bool) -> list[str]:
    """Return lines about metrics of an earlier kind, which model files hold."""
    return [
        _heading(metrics, private),
        f"  RMSE of errors clipped at {metrics['clip']:.6g}: {_number(metrics['rmse_clipped'])}; "
        f"RMSE of always the mean: {_number(metrics['mean_rmse'])}",
        "  The errors of the model are clipped and those of the mean are not: these two metrics "
        "flatter the model.",
        *([metrics["verdict"]] if metrics["verdict"] else []),
    ]


def _number(metric: Mapping[str, Any]) -> str:
    value, low, high = (metric[key] for key in ("value", "low", "high"))
    if value is None:
        known = "" if high is None else f"; {low:.4g} to {high:.4g}"
        return f"{_UNKNOWN[:-1]}{known})"
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def _bin(each: Mapping[str, Any], unit: str) -> str:
    rows = f"probability {each['from']:g} to {each['to']:g}: about {_count(each['rows'])} {unit}"
    if each["came_true"]["value"] is None:
        return f"{rows}, too few for the noise to show how many came true"
    return f"{rows}, came true {_share(each['came_true'])}"


def _share(metric: Mapping[str, Any]) -> str:
    if metric["value"] is None:
        return _UNKNOWN
    return f"{metric['value']:.2%} [{metric['low']:.2%}, {metric['high']:.2%}]"


def _count(metric: Mapping[str, Any]) -> str:
    return f"{metric['value']:,.0f} [{metric['low']:,.0f}, {metric['high']:,.0f}]"
