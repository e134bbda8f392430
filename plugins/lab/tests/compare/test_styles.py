"""Curves differ by colour, in grey print, and to the colour-blind."""

from itertools import combinations

import numpy as np
import pytest

from dpcore_lab.compare.styles import COLOURS, DASHES, MARKERS, curve_style

TEN = range(10)
# Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB.
PROTANOPE = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
DEUTERANOPE = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(axis=1)


def lab(colour, seen=None):
    """Return CIELAB of a colour, as it is seen."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if seen is not None:
        linear = np.clip(np.array(seen) @ linear, 0, 1)
    f = np.cbrt(np.maximum(XYZ @ linear / WHITE, 1e-9))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colours, seen=None):
    seen_as = [lab(colour, seen) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for a, b in combinations(seen_as, 2))


@pytest.mark.parametrize(("seen", "least"), [(None, 36), (PROTANOPE, 14), (DEUTERANOPE, 14)])
def test_any_two_hues_differ(seen, least):
    assert nearest(COLOURS, seen) >= least


def test_the_hues_of_before_would_not_have_done():
    """Okabe & Ito's six came round at the seventh curve."""
    six = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
    assert nearest([six[place % 6] for place in TEN]) == 0


def test_grey_print_tells_any_two_apart():
    styles = [curve_style(place) for place in TEN]
    for one, other in combinations(styles, 2):
        lightness = abs(lab(one["color"])[0] - lab(other["color"])[0])
        assert one["marker"] != other["marker"]
        assert one["ls"] != other["ls"] or lightness >= 5


def test_more_than_ten_curves_differ_in_two_ways_or_more():
    looks = [curve_style(place) for place in range(len(COLOURS) + len(MARKERS))]
    for one, other in combinations(looks, 2):
        assert sum(one[way] != other[way] for way in ("color", "marker", "ls")) >= 2


def test_what_is_not_private_is_broken_and_hollow():
    private, other = curve_style(3), curve_style(3, private=False)
    assert other["ls"] not in DASHES and other["mfc"] == "white"
    assert private["mfc"] == private["color"] == other["color"]
