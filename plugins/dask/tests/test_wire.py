"""What anyone registers with ``copyreg`` decides neither what a worker sums nor the sum."""

import copyreg
import pickle

import numpy as np
import pytest

from dpcore.errors import EngineError
from dpcore.plugin import RowCount
from dpcore_dask import partition_workers, tasks, wire
from dpcore_dask.files import FileSource
from dpcore_dask.partition import Partition
from dpcore_dask.tasks import Outcome


class Twice(RowCount):
    def answer_block(self, block):
        return 2 * super().answer_block(block)


def ten():
    return Outcome(np.array([10]))


@pytest.fixture
def register():
    """Return a function that registers how objects of a class are pickled, for one test."""
    kinds = []

    def register(kind, made):
        copyreg.pickle(kind, lambda _: (made, ()))
        kinds.append(kind)

    yield register
    for kind in kinds:
        del copyreg.dispatch_table[kind]


@pytest.mark.parametrize(
    ("kind", "made", "swapped"), [(RowCount, Twice, {64_002}), (Outcome, ten, {10, 20, 30})]
)
def test_a_sum_is_of_the_query_that_was_asked(
    opened, folder, register, monkeypatch, kind, made, swapped
):
    engine = opened(folder)
    register(kind, made)
    assert engine.answer(RowCount()).tolist() == [32_001]
    for module in (partition_workers, tasks):  # The twin sends what Dask would.
        monkeypatch.setattr(module, "packed", pickle.dumps)
    assert engine.answer(RowCount())[0] in swapped


def test_a_class_within_a_function_goes_with_its_code_and_nothing_registered(register):
    class Local(RowCount):
        pass

    register(RowCount, Twice)
    there = wire.unpacked(wire.packed([Local(), RowCount()]))
    assert [type(query).__name__ for query in there] == ["Local", "RowCount"]


def test_a_number_for_a_class_is_refused():
    name = (RowCount.__module__, "RowCount")
    copyreg.add_extension(*name, 240)
    try:
        assert b"count" not in pickle.dumps(RowCount)  # as a worker would look it up
        with pytest.raises(EngineError, match="gave a class a number"):
            wire.packed(RowCount())
    finally:
        copyreg.remove_extension(*name, 240)


def test_partitions_that_dask_would_move_otherwise_give_no_sum(opened, folder, schema, register):
    engine = opened(folder)
    register(FileSource, lambda: FileSource("elsewhere", schema, "refuse", ()))
    source = FileSource(str(folder / "3.parquet"), schema, "refuse", ())
    moved = pickle.loads(pickle.dumps(Partition(source)))
    assert moved.facts().n_units == 1
    register(Partition, lambda: moved)
    with pytest.raises(EngineError, match="how a Partition is pickled"):
        engine.answer(RowCount())
