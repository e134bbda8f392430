"""Checks in other processes: a forked child, and Python without assertions."""

import os
import subprocess
import sys

import numpy as np
import pytest
from honest import Honest

from dpcore.plugin import NeighboringRelation, Solution
from dpcore_lab.checks import check_outputs_released, make_rows
from dpcore_lab.replay.recorded import record_run


class Forks(Honest):
    """Runs once more in a forked child, with a budget of its own, and takes the mean."""

    def minimize(self, problem, session):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writing, super().minimize(problem, session).w.tobytes())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
        os.wait()
        if not told:
            raise RuntimeError("The child has no answer.")
        return Solution((super().minimize(problem, session).w + np.frombuffer(told)) / 2, "Done.")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_no_budget_of_its_own():
    # Each process would spend the whole budget, and the parent's ledger shows its own half only.
    with pytest.raises(RuntimeError, match="no answer"):
        record_run(Forks(), make_rows(50), NeighboringRelation.REPLACE_ONE)
    with pytest.raises(AssertionError, match="starts another process"):
        check_outputs_released(Forks())


@pytest.mark.slow
def test_without_assertions_nothing_is_checked():
    code = """
from dpcore.errors import InvalidInputError
from dpcore_lab.checks import *
calls = parametrize_with_checks, run_checks, check_loss, check_query, check_mechanism
for call in (*calls, check_dataset, check_engine):
    try:
        call(None)
    except InvalidInputError as error:
        print(error)
"""
    command = [sys.executable, "-O", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["The checks are assertions: run Python without -O."] * 7
