"""A small plugin for the tests: its optimizer makes a few noisy counts of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from dpcore.plugin import Gaussian, PrivacySession, Problem, Slot, Solution, hookimpl
from dpcore.plugin.parts import Sensitivity


@hookimpl
def register_optimizers(register):
    register(
        "stub", "dpcore_stub:Stub", summary="Counts the rows with noise.", reference="Nobody 2001"
    )


@hookimpl
def register_datasets(register):
    register("stub-rows", "dpcore_stub:load", summary="Four rows of two columns.")


def load():
    from dpcore.plugin.parts import dataset_from_arrays

    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    return dataset_from_arrays(X, np.array([0, 1, 0, 1]), classes=(0, 1), row_norm=2.0)


class RowCount:
    kind: ClassVar[str] = "count"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([block.n_rows], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", float(relation.rows_changed), relation)


@dataclass(frozen=True, kw_only=True)
class Stub:
    """Counts the rows ``counts`` times."""

    counts: int = field(default=2, metadata={"help": "how often to count", "unit": "releases"})
    noise: float | None = field(default=None, metadata={"help": "noise multiplier"})
    mode: Literal["plain", "fancy"] = "plain"
    smooth: bool = True
    as_published: bool = False
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "stub"
    slots: ClassVar[dict[str, Slot]] = {"count": Slot(("gaussian", "laplace"), takes=("l2", "l1"))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[dict[str, dict[str, object]]] = {
        "paper": {"counts": 3, "count": "laplace", "accountant_conversion": "bun-steinke"}
    }
    departures: ClassVar[tuple[str, ...]] = ("It counts where the paper guesses.",)
    theorem: ClassVar[str] = "Bun & Steinke 2016, Proposition 1.6"

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        multiplier = self.noise or 100.0
        released = [session.release(RowCount(), Gaussian(multiplier)) for _ in range(self.counts)]
        w = np.full(problem.n_features, float(np.mean(released)) * 2.0**-12)
        return Solution(
            w, "All counts were made.", {"steps": self.counts, "odd": np.float64("nan")}
        )
