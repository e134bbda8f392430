"""Hyper-parameters from text and from Python: the field's type decides."""

import math
from dataclasses import dataclass
from typing import Literal

import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Option
from dpcore.registry.parameters import (
    check_ranges,
    convert,
    convert_all,
    describe_parameters,
    option,
)


@dataclass(frozen=True)
class Example:
    steps: int = 3
    clip: float | None = None
    kind: Literal["a", "b"] = "a"
    fast: bool = False
    note: str = ""
    use: str = "not a parameter"


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, "12", 12),
        (int, 12, 12),
        (float, "1e-3", 1e-3),
        (float, 2, 2.0),
        (float | None, "auto", None),
        (float | None, None, None),
        (float | None, "0", 0.0),
        (bool, "TRUE", True),
        (bool, False, False),
        (str, "text", "text"),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], "2", 2),
    ],
)
def test_values_of_a_type(annotation, value, expected):
    converted = convert("x", annotation, value)
    assert converted == expected and type(converted) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "1.5"),
        (int, 1.0),
        (int, True),
        (int, "none"),
        (float, "nan"),
        (float, float("inf")),
        (float, "1e999"),
        (float, 10**400),
        (float, True),
        (float | None, "some"),
        (bool, 1),
        (bool, "maybe"),
        (Literal["a", "b"], "c"),
        (str, 3),
        (list, "[1]"),
    ],
)
def test_values_of_another_type_are_refused(annotation, value):
    with pytest.raises(InvalidInputError, match=r"Expected x="):
        convert("x", annotation, value)


def test_names():
    assert convert_all(Example, {"steps": "4", "clip": 2}) == {"steps": 4, "clip": 2.0}
    with pytest.raises(InvalidInputError, match=r"'step'. Did you mean steps\?"):
        convert_all(Example, {"step": 1})
    with pytest.raises(InvalidInputError, match="^sgd has no parameter 'step'"):
        convert_all(Example, {"step": 1}, "sgd")
    with pytest.raises(InvalidInputError, match="no parameter 'use'"):
        convert_all(Example, {"use": "x"})
    described = describe_parameters(Example)
    assert [p.name for p in described] == ["steps", "clip", "kind", "fast", "note"]
    assert described[1].type == "a finite number or none"


@pytest.mark.parametrize("text", ["steps", "=3", "steps=", " = ", ""])
def test_assignments(text):
    assert Option.pair("a=b=c", "--set") == ("a", "b=c")
    with pytest.raises(InvalidInputError, match="--set"):
        Option.pair(text, "--set")


def ranged(bounds):
    @dataclass(frozen=True)
    class Ranged:
        rate: float | None = option(None, "How fast.", "1 / s", "as fast as it can", bounds)

    return Ranged


@pytest.mark.parametrize(
    ("value", "bounds", "told"),
    [
        (0.0, (0, 1, "(]"), "rate=0.0 is out of range: expected a value in (0, 1]."),
        (1.0, (0, 1, "[)"), "rate=1.0 is out of range: expected a value in [0, 1)."),
        (1.5, (0, 1), "rate=1.5 is out of range: expected a value in [0, 1]."),
        (-0.5, (0, 1), "rate=-0.5 is out of range"),
        (math.nan, (0, math.inf), "rate=nan is out of range: expected a value in [0, inf]."),
    ],
)
def test_a_value_out_of_range_is_told(value, bounds, told):
    with pytest.raises(InvalidInputError) as caught:
        check_ranges(ranged(bounds)(value))
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("value", [None, 0.0, 1.0])
def test_a_value_in_range_or_left_open_passes(value):
    check_ranges(ranged((0, 1))(value))


def test_an_option_is_described():
    (parameter,) = describe_parameters(ranged((0, 8, "(]")))
    assert (parameter.help, parameter.unit) == ("How fast.", "1 / s")
    assert (parameter.default, parameter.rule) == (None, "as fast as it can")
    assert parameter.range == "(0, 8]" and describe_parameters(ranged(None))[0].range == ""
