"""The table of the normal quantile: every row's error bound against mpmath."""

import mpmath
import numpy as np
import pytest

from dpcore.noise.normal_quantile import FIRST_TERMS, OCTAVES, ROW_BITS, SLACK, quantile_table

ROWS = 1 << ROW_BITS


def rows():
    """Return (row, centre, half-width) of all rows, as the docstring of the table has them."""
    i = 0
    for octave in range(OCTAVES, 0, -1):
        width = mpmath.mpf(2) ** -(octave + 1) / ROWS
        for place in range(ROWS):
            yield i, (ROWS + place + mpmath.mpf(1) / 2) * width, width / 2
            i += 1


def tail(m):
    return mpmath.erfc(m / mpmath.sqrt(2)) / 2


def violations(terms, bounds, step, places=(-1.0, 0.0, 1.0)):
    """Return how many points of every ``step``-th row are further from m(v) than the row's bound.

    |p - m(v)| <= r says Q(p + r) <= v <= Q(p - r). Ends are the worst points of a Taylor series.
    """
    kept, found = quantile_table().coefficients[:, :terms], 0
    with mpmath.workdps(40):
        for i, centre, half in rows():
            for s in places if i % step == 0 else ():
                p = mpmath.fsum(c * mpmath.mpf(s) ** n for n, c in enumerate(kept[i]))
                r, v = mpmath.mpf(bounds[i]), centre + half * mpmath.mpf(s)
                found += not tail(p + r) <= v <= tail(p - r)
    return found


@pytest.mark.slow
def test_no_row_errs_by_more_than_its_bounds():
    table = quantile_table()
    assert violations(table.coefficients.shape[1], table.full + SLACK / 4, step=1) == 0
    # The rounded constant term alone is worth 2^-51.
    assert violations(FIRST_TERMS, table.short + SLACK / 4, step=1) == 0


def test_the_constant_term_and_its_rest_are_exact():
    table = quantile_table()
    with mpmath.workdps(60):
        for i, centre, _ in rows():
            if i % 11 == 0:
                known = mpmath.mpf(table.coefficients[i, 0]) + mpmath.mpf(table.rest[i])
                off = (tail(known) - centre) * mpmath.mpf(table.slopes[i])
                assert abs(off) < mpmath.mpf(2) ** -90
    assert np.abs(table.rest).max() > 2.0**-52


def test_no_place_within_a_row_errs_by_more():
    table, places = quantile_table(), np.linspace(-1, 1, 31)
    assert violations(table.coefficients.shape[1], table.full + SLACK / 4, 97, places) == 0
    assert violations(FIRST_TERMS, table.short + SLACK / 4, 97, places) == 0


def test_the_bounds_are_not_idle():
    # Positive control: of half the bound a good part of the rows has points further off.
    table = quantile_table()
    assert violations(FIRST_TERMS, table.short / 2, step=16) > 20


@pytest.mark.parametrize("end", [-1, 1])
def test_the_slope_of_a_row_is_nowhere_larger(end):
    table = quantile_table()
    with mpmath.workdps(30):
        for i, centre, half in rows():
            if i % 13 == 0:
                v = centre + end * half
                m = -mpmath.sqrt(2) * mpmath.erfinv(2 * v - 1)
                slope = mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(m * m / 2)
                assert slope <= table.slopes[i] <= 1.1 * slope


def test_the_table_cannot_be_written():
    for column in quantile_table():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
