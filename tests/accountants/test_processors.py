"""Values of budgets have the same bits on every processor."""

import json
from pathlib import Path

import pytest
from processors import other_processors, output_of

VALUES = Path(__file__).with_name("budget_values.py")


@pytest.fixture(scope="module")
def printed():
    """What the program prints on this and other processors, by name: run once for both tests."""
    processors = {"here": {}, **other_processors()}
    return {name: json.loads(output_of([VALUES], each)) for name, each in processors.items()}


@pytest.mark.slow
def test_the_values_of_a_budget_do_not_depend_on_the_processor(printed):
    """By BLAS's order of adding, and NumPy's own functions, 26 and 28 of 167 values did."""
    here = printed["here"]
    assert len(here["values"]) > 60 and len(printed) > 1
    for name, there in printed.items():
        changed = [k for k, each in here["values"].items() if there["values"].get(k) != each]
        assert changed == [], name


@pytest.mark.slow
def test_a_product_and_a_function_of_numpys_own_choice_do(printed):
    """The positive control of the test above: a product on every other type of core, a function
    where NumPy has no code of its own for one. With one thread a product of vectors did not."""
    for name in ("product", "exp"):
        assert len({each["control"][name] for each in printed.values()}) > 1, name
    assert len({each["control"]["product"] for each in printed.values()}) == len(printed)
