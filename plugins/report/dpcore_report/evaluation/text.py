"""A private evaluation in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore_report.evaluation.group_text import groups_in_words

__all__ = ["evaluation_in_words"]

_MOST_CLASSES = 20
_UNKNOWN = "unknown (too few such rows for the noise)"


def evaluation_in_words(figures: Mapping[str, Any], *, private: bool) -> list[str]:
    """Return lines about a model's released figures, each with its interval; none of none.

    ``private`` : whether the run of the model guarantees anything: if it does not, whoever can
    draw its noise again has the exact counts.
    """
    if not figures:
        return []
    if "bounds" in figures:
        *lines, verdict = _of_errors(figures, private)
        return [*lines, *groups_in_words(figures), verdict]
    if "clip" in figures:
        return _of_clipped_errors(figures, private)
    accuracy = (
        f"  accuracy {_share(figures['accuracy'])}; always predicting "
        f"{figures['constant_class']!r}: {_share(figures['constant_accuracy'])}"
    )
    lines = [_heading(figures, private), *_in_order(accuracy, figures)]
    if "auc_of_bins" in figures:
        lines.append(f"  AUC of scores in public bins {_share(figures['auc_of_bins'])}")
    if "macro_auc" in figures:
        lines.append(
            f"  macro AUC, of each class against all others, in public bins of the margin over the "
            f"next class {_share(figures['macro_auc'])}"
        )
    if len(figures["recall"]) <= _MOST_CLASSES:
        lines += [
            f"  {name}: recall {_share(recall)}, precision {_share(figures['precision'][name])}"
            f"{_f1(figures, name)}"
            for name, recall in figures["recall"].items()
        ]
    unit = "times the largest weight" if "largest_weight" in figures else "rows"
    lines += [f"  {_bin(each, unit)}" for each in figures.get("calibration", ())]
    lines += groups_in_words(figures)
    return [*lines, *([figures["verdict"]] if figures["verdict"] else [])]


def _in_order(accuracy: str, figures: Mapping[str, Any]) -> list[str]:
    """Return the lines of accuracy and of macro F1, the second first where a class is rare; of a
    model file of before, which has no F1, the first alone."""
    if "macro_f1" not in figures:
        return [accuracy]
    f1 = f"  macro F1 {_share(figures['macro_f1'])}, in which every class counts the same"
    rare = figures["rare_class"]
    if rare is None:
        return [accuracy, f1]
    return [f"{f1} ({rare!r} is rare)", accuracy]


def _heading(figures: Mapping[str, Any], private: bool) -> str:
    how = "released within the budget" if private else "NOT PRIVATE, as the model is not"
    rows = f"On about {_count(figures['held_out_rows'])} rows held out"
    if "largest_weight" in figures:
        largest = f"the largest weight, {figures['largest_weight']:g}"
        rows = f"On rows held out that weigh {_count(figures['held_out_rows'])} times {largest}"
    return f"{rows}, {how}, with 95 % intervals for noise and sampling:"


def _f1(figures: Mapping[str, Any], name: str) -> str:
    return f", F1 {_share(figures['f1'][name])}" if "f1" in figures else ""


def _of_errors(figures: Mapping[str, Any], private: bool) -> list[str]:
    lower, upper = figures["bounds"]
    return [
        _heading(figures, private),
        f"  RMSE {_number(figures['rmse'])}{_mae(figures)}; RMSE of always the mean: "
        f"{_number(figures['mean_rmse'])}; the mean: {_number(figures['mean'])}",
        f"  R2 {_number(figures['r2'])}; targets and predictions are held to their bounds, "
        f"{lower:.6g} to {upper:.6g}",
        figures["verdict"],
    ]


def _mae(figures: Mapping[str, Any]) -> str:
    """Return the mean absolute error, which a model file of before has not."""
    return f"; MAE {_number(figures['mae'])}" if "mae" in figures else ""


def _of_clipped_errors(figures: Mapping[str, Any], private: bool) -> list[str]:
    """Return lines about figures of an earlier kind, which model files hold."""
    return [
        _heading(figures, private),
        f"  RMSE of errors clipped at {figures['clip']:.6g}: {_number(figures['rmse_clipped'])}; "
        f"RMSE of always the mean: {_number(figures['mean_rmse'])}",
        "  The errors of the model are clipped and those of the mean are not: these two figures "
        "flatter the model.",
        *([figures["verdict"]] if figures["verdict"] else []),
    ]


def _number(figure: Mapping[str, Any]) -> str:
    value, low, high = (figure[key] for key in ("value", "low", "high"))
    if value is None:
        known = "" if high is None else f"; {low:.4g} to {high:.4g}"
        return f"{_UNKNOWN[:-1]}{known})"
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def _bin(each: Mapping[str, Any], unit: str) -> str:
    return (
        f"probability {each['from']:g} to {each['to']:g}: about {_count(each['rows'])} {unit}, "
        f"came true {_share(each['came_true'])}"
    )


def _share(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return _UNKNOWN
    return f"{figure['value']:.2%} [{figure['low']:.2%}, {figure['high']:.2%}]"


def _count(figure: Mapping[str, Any]) -> str:
    return f"{figure['value']:,.0f} [{figure['low']:,.0f}, {figure['high']:,.0f}]"
