"""Figures of a model on rows, computed without privacy, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["figures_of", "verdict_of"]


def verdict_of(figures: Mapping[str, Any]) -> list[str]:
    """Return the sentence about a model that is worse than a constant one, if it is."""
    return [figures["verdict"]] if figures["verdict"] else []


def figures_of(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return the figures computed without privacy, as words."""
    told = ("majority_accuracy", "majority_class", "verdict")
    texts = [_figure(name, value) for name, value in diagnostics.items() if name not in told]
    if diagnostics.get("majority_accuracy") is not None:
        share = f"{diagnostics['majority_accuracy']:.2%}"
        texts.append(f"always {diagnostics['majority_class']!r}: {share}")
    return texts


def _figure(name: str, value: float | None) -> str:
    label = name.replace("_", " ")
    if value is None:
        return f"{label} undefined"
    return f"{label} {value:.2%}" if name.endswith("accuracy") else f"{label} {value:.4f}"
