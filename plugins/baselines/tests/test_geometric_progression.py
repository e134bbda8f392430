"""A progression of numbers with even ratios."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore_baselines.geometric_progression import geometric_progression


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 40))
def test_a_progression_has_even_ratios(first, last, count):
    found = geometric_progression(first, last, count)
    assert found[0] == first and found.size == count
    assert count == 1 or found[-1] == last
    assert found == pytest.approx(np.geomspace(first, last, count), rel=1e-12)
