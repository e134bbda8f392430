"""Functions of arrays are right to the error that is stated, and end without a warning."""

import importlib
import math
import sys

import mpmath as mp
import numpy as np
import pytest

from dpcore_accounting.reproducible import array_functions
from dpcore_accounting.reproducible.array_functions import (
    FUNCTION_ERROR,
    array_exp,
    array_expm1,
    array_log,
)

FUNCTIONS = {
    array_exp: (mp.exp, -700.0, 700.0),
    array_expm1: (mp.expm1, -50.0, 700.0),
    array_log: (mp.log, 0.0, 1e300),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_is_right_to_the_error_that_is_stated(function):
    exact, low, high = FUNCTIONS[function]
    rng = np.random.default_rng(5)
    near = rng.uniform(-1, 1, 1000) * 10.0 ** -rng.integers(0, 20, 1000)
    x = np.concatenate((near, rng.uniform(-3, 3, 1000), np.exp(rng.uniform(-50, 6, 1000))))
    x = x[(x > low) & (x < high) & (x != 0)]
    with mp.workprec(150):
        truth = [exact(mp.mpf(each)) for each in x.tolist()]
        errors = [abs(f / t - 1) for f, t in zip(function(x).tolist(), truth, strict=True) if t]
    assert max(errors) <= FUNCTION_ERROR / 2  # with as much to spare


@pytest.mark.parametrize("loop", ["Python's", "SciPy's"])
def test_functions_are_those_of_the_c_library_and_end_without_a_warning(loop, monkeypatch):
    importlib.import_module("scipy.special")
    monkeypatch.setattr(array_functions, "_are_for_python", lambda x: loop == "Python's")
    x = np.random.default_rng(6).uniform(-700, 700, 2000)
    assert array_exp(x).tolist() == [math.exp(each) for each in x.tolist()]
    assert array_log(abs(x)).tolist() == [math.log(abs(each)) for each in x.tolist()]
    ends = np.array([-np.inf, -1e300, 1e300, np.inf])
    assert array_exp(ends).tolist() == [0.0, 0.0, np.inf, np.inf]
    edge = math.log(sys.float_info.max)
    beyond = np.array([[edge], [np.nextafter(edge, 1e3)]])
    assert array_exp(beyond).tolist() == [[math.exp(edge)], [np.inf]]
    assert np.isnan(array_exp(np.array([np.nan])))
    assert array_expm1(ends).tolist() == [-1.0, -1.0, np.inf, np.inf]
    assert array_log(np.array([0.0, np.inf])).tolist() == [-np.inf, np.inf]
