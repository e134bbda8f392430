"""The memory of a run: said beforehand from public facts, refused before the first charge."""

import dataclasses

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning import memory
from dpcore.fitting.planning.memory import Bytes, memory_of, require_memory
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.planning.utility_warning import UtilityWarning
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_report.forecast import Forecast


def problem_of(n_features, plan):
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    return Problem(plan.loss, 0.0, n_features, 1.0, 1.0, relation=relation, n0=10**9)


def told(n_features):
    said, plan = [], make_plan(Settings(algo="dp-gd", epsilon=1.0))
    UtilityWarning(said.append).look(plan, problem_of(n_features, plan))
    return said


def test_much_memory_is_said_and_little_is_not():
    assert told(10**6) == [
        "this run takes about 512 MB of memory beside its rows, for 1,000,000 columns."
    ]
    assert told(10**5) == []


def test_the_margins_of_several_classes_count_by_the_public_number_of_rows():
    plan = make_plan(Settings(algo="dp-agd", epsilon=1.0, loss="softmax"))
    few = dataclasses.replace(problem_of(1, make_plan(Settings())), loss=plan.loss, n_margins=16)
    columns = 512 * 16
    assert memory_of(plan.optimizer, few) == columns + 24 * 16 * 10**9
    assert memory_of(plan.optimizer, dataclasses.replace(few, n0=None)) == columns
    said = []
    UtilityWarning(said.append).look(plan, few)
    assert said == [
        "this run takes about 384 GB of memory beside its rows, for 1 columns of 16 classes."
    ]


def test_an_optimizer_may_state_more_and_no_less():
    plan = make_plan(Settings(algo="dp-gd", epsilon=1.0))
    problem = problem_of(1000, plan)

    class Hungry(type(plan.optimizer)):
        def memory(self, problem):
            return self.steps * problem.n_features**2

    for steps, needed in ((1, 10**6), (10**6, 10**12)):
        assert memory_of(Hungry(steps=steps), problem) == needed
    assert memory_of(Hungry(steps=1), problem_of(10, plan)) == 5120


def test_what_no_machine_holds_is_refused_before_the_first_charge(monkeypatch):
    monkeypatch.setattr(memory, "_of_machine", lambda: 3 * 512.0)
    X, y = np.full((20, 2), 0.5), np.repeat([-1, 1], 10)
    fit(X, y, algo="dp-gd", epsilon=1.0, bounds=(0, 1), row_norm=None, n0=20)
    schema = {"row_norm": None, "bounds": (0, 1)}
    dataset = dataset_from_arrays(np.full((20, 3), 0.5), y, classes=(-1, 1), **schema)
    charged = []
    with pytest.raises(InvalidInputError, match="dp-gd takes about 1 MB of memory"):
        plan = make_plan(Settings(algo="dp-gd", epsilon=1.0))
        Run(plan, dataset, on_release=charged.append).model()
    assert charged == []


def test_a_system_that_does_not_say_refuses_nothing(monkeypatch):
    plan = make_plan(Settings(algo="dp-gd", epsilon=1.0))
    problem = dataclasses.replace(problem_of(10, plan), n_features=2**40)
    with pytest.raises(InvalidInputError, match=r"562,950 GB .* take fewer columns"):
        require_memory(plan.optimizer, problem)
    monkeypatch.delattr(memory.os, "sysconf")
    require_memory(plan.optimizer, problem)


def test_a_containers_limit_counts_where_it_is_less(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMIT", limit)
    present = memory._of_machine()
    limit.write_text("max\n")
    assert memory._of_machine() == present
    limit.write_text("1048576\n")
    assert memory._of_machine() == 2.0**20


def test_a_forecast_has_the_memory_too():
    assert Forecast(Settings(), 1000).memory() == 512_000


@pytest.mark.parametrize(
    "count, words", [(10, "1 MB"), (5e8, "500 MB"), (1.26e9, "1.3 GB"), (2e12, "2,000 GB")]
)
def test_numbers_of_bytes_in_words(count, words):
    assert str(Bytes(count)) == f"{Bytes(count)}" == words
