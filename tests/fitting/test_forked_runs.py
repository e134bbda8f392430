"""A run is of the process that began it."""

import os
import subprocess
import sys

import pytest
from forked import refusal_in_a_child

from dpcore.plugin.parts import OneProcess

# It forks where it is asked something, and both processes went on with the run: two runs of the
# whole budget, each with the promise of one.
PLUGIN = """
import os
import sys
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from dpcore.plugin import Gaussian, RowCount, Solution, hookimpl

def fork(place):
    global child
    if place == sys.argv[1] and child is None:
        child = os.fork()

child = None

@dataclass(frozen=True, kw_only=True)
class Forks:
    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one",)
    needs: ClassVar[tuple] = ("classification",)
    def default_l2(self, problem, accountant):
        fork("default_l2")
        return 0.1
    def minimize(self, problem, session):
        session.release(RowCount(), Gaussian(1e4))
        fork("minimize")
        return Solution(np.zeros(problem.n_features), "done")

@hookimpl
def register_optimizers(register):
    register("forks", "forks:Forks", summary="Forks.")
"""
RUN = """
import os
import sys
import dpcore
import forks
import numpy as np
from dpcore_report.evaluation.step import Evaluation

told = "a model"
try:
    dpcore.fit(
        np.full((50, 1), 0.5), np.tile([-1, 1], 25), bounds=(0, 1), epsilon=1.0, delta=1e-6,
        algo="forks", accountant="zcdp", also=[Evaluation(share=0.5, test_fraction=0.4)],
    )
except Exception as error:
    told = f"{type(error).__name__}: {error}"
if forks.child:
    os.waitpid(forks.child, 0)
print(told, flush=True)
"""
METADATA = "Metadata-Version: 2.1\nName: forks\nVersion: 1.0\n"


def test_a_child_that_is_forked_beside_a_run_may_begin_one():
    assert refusal_in_a_child(OneProcess) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked")
@pytest.mark.parametrize("place", ["default_l2", "minimize"])
def test_a_child_that_is_forked_within_a_run_opens_no_session(tmp_path, place):
    (tmp_path / "forks.py").write_text(PLUGIN)
    info = tmp_path / "forks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text("[dpcore]\nforks = forks\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, place],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    child, parent = done.stdout.splitlines()
    assert child.startswith("InvalidInputError: This process was forked ")
    assert parent == "a model"
