"""The labels of a data set, as its check takes them."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.plugin.parts import dataset_from_arrays
from dpcore_lab.checks.datasets import _digest

KINDS = {
    "two": ({"classes": ("a", "b")}, ["a", "b"], [-1.0, 0.0]),
    "three": ({"classes": ("a", "b", "c")}, ["a", "c"], [0.0, 3.0]),
    "between": ({"classes": ("a", "b", "c")}, ["a", "c"], [0.0, 0.5]),
    "number": ({"target_bounds": (0, 2)}, [0.0, 2.0], [-1.0, 1.5]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_that_no_schema_could_give_are_found(kind):
    words, y, broken = KINDS[kind]
    data = dataset_from_arrays(np.eye(2), y, **words)
    assert _digest(data)
    for wrong in (broken, [np.nan, broken[0]]):
        with pytest.raises(AssertionError, match="Its labels are not -1 and \\+1, nor places"):
            _digest(replace(data, y=np.array(wrong)))
