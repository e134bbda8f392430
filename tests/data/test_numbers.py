"""Which features are numbers, by the schema alone."""

import pytest

from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import Logistic

COLUMNS = {
    "city": {"kind": "categorical", "categories": ["Bern", "Basel", "Genf"]},
    "age": {"kind": "numeric", "lower": 0, "upper": 100, "indicator": True},
    "rent": {"kind": "numeric", "bins": [500, 1000]},
    "is-new": {"kind": "boolean"},
    "wage": {"kind": "numeric", "lower": 1, "upper": 1e6, "scale": "log"},
    "gone": {"kind": "drop"},
    "size": {"kind": "numeric", "knots": [0, 10, 50]},
    "label": {"kind": "label", "classes": [0, 1]},
}


def test_the_places_are_those_of_numbers_between_bounds():
    schema = Schema.from_dict({"columns": COLUMNS})
    found = [schema.feature_names[place] for place in schema.number_features]
    assert found == ["age", "wage"]


def test_a_number_whose_bounds_are_private_is_one():
    private = COLUMNS | {"debt": {"kind": "numeric"}}
    schema = Schema.from_dict({"columns": private}, private_bounds=True)
    names = [schema.feature_names[place] for place in schema.number_features]
    assert names == ["age", "wage", "debt"]


def test_hats_beside_a_number_are_known_by_their_place():
    curve = {"kind": "numeric", "lower": 0, "upper": 70, "knots": 8, "indicator": True}
    knots = {"kind": "numeric", "knots": [0, 1, 2]}
    columns = {"a": curve, "b": knots, "c": COLUMNS["age"], "d": curve | {"indicator": False}}
    label = {"y": {"kind": "label", "classes": [0, 1]}}
    schema = Schema.from_dict({"columns": columns | label})
    for (first, width), name in zip(schema.curve_features, "ad", strict=True):
        assert schema.feature_names[first].startswith(f"{name}@") and width == 8
        assert schema.feature_names[first + 7] == f"{name}@70"
    assert [schema.feature_names[place] for place in schema.number_features] == ["a", "c", "d"]


def test_of_unnamed_features_nothing_is_known():
    assert width_schema(7).number_features == () == width_schema(7).curve_features


@pytest.mark.parametrize("wrong", [(3,), (-1,)])
def test_a_place_that_is_no_feature_is_refused(wrong):
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    with pytest.raises(InvalidInputError, match="one of the features"):
        Problem(Logistic(), 0.0, 3, 1.0, 1.0, relation, numbers=wrong)
