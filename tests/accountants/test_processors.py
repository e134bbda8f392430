"""Figures of budgets have the same bits on every processor."""

import json
from pathlib import Path

import pytest
from processors import other_processors, output_of

FIGURES = Path(__file__).with_name("budget_figures.py")


@pytest.fixture(scope="module")
def elsewhere():
    """What the program prints on other processors, by their names: run once for both tests."""
    processors = other_processors()
    return {name: json.loads(output_of([FIGURES], each)) for name, each in processors.items()}


@pytest.mark.slow
def test_the_figures_of_a_budget_do_not_depend_on_the_processor(elsewhere):
    """By BLAS's order of adding, and NumPy's own functions, 26 and 28 of 167 figures did."""
    here = json.loads(output_of([FIGURES], {}))
    assert len(here["figures"]) > 60
    for name, there in elsewhere.items():
        changed = [k for k, each in here["figures"].items() if there["figures"].get(k) != each]
        assert changed == [], name


@pytest.mark.slow
def test_a_product_and_a_function_of_numpys_own_choice_do(elsewhere):
    """The positive control of the test above."""
    assert len({there["control"] for there in elsewhere.values()}) > 1
