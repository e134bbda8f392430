"""Figures of a model on rows, computed without privacy, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["confusion_of", "figures_of", "verdict_of"]

_MOST_CLASSES = 20


def verdict_of(figures: Mapping[str, Any]) -> list[str]:
    """Return the sentence about a model that is worse than a constant one, if it is."""
    return [figures["verdict"]] if figures["verdict"] else []


def figures_of(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return the figures computed without privacy, as words."""
    told = ("majority_accuracy", "majority_class", "verdict", "test_confusion")
    texts = [_figure(name, value) for name, value in diagnostics.items() if name not in told]
    if diagnostics.get("majority_accuracy") is not None:
        share = f"{diagnostics['majority_accuracy']:.2%}"
        texts.append(f"always {diagnostics['majority_class']!r}: {share}")
    return texts


def confusion_of(figures: Mapping[str, Any]) -> list[str]:
    """Return a line for each class of the test rows, with the classes that the model says of them;
    nothing for two classes, and little for a great many."""
    counts = figures.get("test_confusion") or {}
    if not counts:
        return []
    if len(counts) > _MOST_CLASSES:
        return [f"Which of {len(counts)} classes was taken for which: --json prints it."]
    rows = {
        name: ", ".join(f"{said} {n}" for said, n in of_class.items()) or "no row"
        for name, of_class in counts.items()
    }
    return [
        "Test rows of each class, and what the model says of them, WITHOUT privacy:",
        *(f"  {name}: {words}" for name, words in rows.items()),
    ]


def _figure(name: str, value: float | None) -> str:
    label = name.replace("_", " ")
    if value is None:
        return f"{label} undefined"
    return f"{label} {value:.2%}" if name.endswith("accuracy") else f"{label} {value:.4f}"
