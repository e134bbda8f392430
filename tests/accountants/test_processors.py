"""Figures of budgets have the same bits on every processor."""

import json
from pathlib import Path

import pytest
from processors import other_processors, output_of

FIGURES = Path(__file__).with_name("budget_figures.py")


@pytest.mark.slow
def test_the_figures_of_a_budget_do_not_depend_on_the_processor():
    """By BLAS's order of adding, and NumPy's own functions, 26 and 28 of 167 figures did."""
    here = json.loads(output_of([FIGURES], {}))
    assert len(here["figures"]) > 60
    for name, environment in other_processors().items():
        there = json.loads(output_of([FIGURES], environment))
        changed = [k for k, each in here["figures"].items() if there["figures"].get(k) != each]
        assert changed == [], name


@pytest.mark.slow
def test_a_product_and_a_function_of_numpys_own_choice_do():
    """The positive control of the test above."""
    processors = other_processors()
    controls = [json.loads(output_of([FIGURES], each))["control"] for each in processors.values()]
    assert len(set(controls)) > 1
