"""Events are data that refuse what has no meaning."""

import inspect

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.privacy.events import (
    ComposedDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore.privacy.sensitivity import NeighboringRelation

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
INNER = GaussianDpEvent(1.0)


def test_a_replaced_row_is_two_rows_that_change():
    changed = {relation.value: relation.rows_changed for relation in NeighboringRelation}
    assert changed == {"add-or-remove-one": 1, "replace-one": 2, "replace-special": 1}


def test_sampled_events_are_values():
    assert PoissonSampledDpEvent(0.5, INNER, ADD) == PoissonSampledDpEvent(0.5, INNER, ADD)
    assert len({SampledWithoutReplacementDpEvent(9, 1, INNER, REPLACE)} | {INNER}) == 2


@pytest.mark.parametrize("p", [0.0, -1.0, 1.1, float("nan"), 1])
def test_a_probability_out_of_range_is_refused(p):
    with pytest.raises(InvalidInputError, match="sampling_probability"):
        PoissonSampledDpEvent(p, INNER, ADD)


@pytest.mark.parametrize(("n", "size"), [(5, 0), (5, 6), (5.0, 1), (0, 0), (True, True)])
def test_a_sample_of_more_than_there_are_is_refused(n, size):
    with pytest.raises(InvalidInputError, match="sample_size"):
        SampledWithoutReplacementDpEvent(n, size, INNER, REPLACE)


def test_a_sample_of_a_sample_or_of_several_is_refused():
    for inner in (
        PoissonSampledDpEvent(0.5, INNER, ADD),
        SampledWithoutReplacementDpEvent(5, 1, INNER, REPLACE),
        ComposedDpEvent((INNER, INNER)),
        "gaussian",
    ):
        with pytest.raises(InvalidInputError, match="one release that is not sampled itself"):
            PoissonSampledDpEvent(0.5, inner, ADD)
        with pytest.raises(InvalidInputError, match="one release that is not sampled itself"):
            SampledWithoutReplacementDpEvent(5, 1, inner, REPLACE)


def test_the_relation_is_part_of_the_event():
    with pytest.raises(InvalidInputError, match="relation"):
        PoissonSampledDpEvent(0.5, INNER, "add-or-remove-one")
    with pytest.raises(InvalidInputError, match="public number of rows"):
        SampledWithoutReplacementDpEvent(5, 1, INNER, ADD)
    for sampled in (PoissonSampledDpEvent, SampledWithoutReplacementDpEvent):
        assert inspect.signature(sampled).parameters["relation"].default is inspect.Parameter.empty


class Posing(float):
    """Equals and hashes as one number, and is another one to whoever computes with it."""

    def __eq__(self, other):
        return other == 0.5

    def __hash__(self):
        return hash(0.5)


def test_a_number_that_poses_as_another_is_no_value_of_an_event():
    assert Posing(1e6) == 0.5  # a cache of costs, or a schedule, would take one for the other
    for make in (GaussianDpEvent, LaplaceDpEvent, PureDpEvent):
        make(0.5), make(np.float64(0.5))
        with pytest.raises(InvalidInputError, match="to be a finite float > 0"):
            make(Posing(1e6))
