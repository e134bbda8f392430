"""The picture: the same bytes every time, readable in grey, with every line named."""

import importlib.util
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.compare.figure import check_figure, draw, write_figure
from dpcore_lab.compare.settings import STATEMENT
from dpcore_lab.compare.styles import COLOURS, curve_style
from dpcore_lab.compare.table import Mean

SETTINGS = {"loss": "logistic", "relation": "replace-one", "delta": 1e-8}
NAMES = ("gd", "agd", "agd:as-published", "majority", "nonprivate")


def mean(data, algorithm, epsilon, value=80.0):
    return Mean(data, algorithm, epsilon, value, 0.5, 5, 0)


@pytest.fixture
def means():
    plain = [mean(data, name, None) for data in ("a", "b") for name in NAMES[3:]]
    curves = [
        mean(data, name, epsilon, 70 + 10 * epsilon)
        for data in ("a", "b")
        for name in NAMES[:3]
        for epsilon in (1.0, 0.5)
    ]
    return [*plain, *curves]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_it_writes_the_same_bytes_twice_which_say_that_it_is_not_private(
    means, tmp_path, form, monkeypatch
):
    paths = [tmp_path / f"{name}.{form}" for name in ("first", "second")]
    write_figure(paths[0], means, SETTINGS, "accuracy")
    assert paths[0].stat().st_mode & 0o777 == 0o600  # as the results
    # A PDF has a backslash before each bracket in a text.
    written = re.sub(r"\\([()])", r"\1", paths[0].read_bytes().decode("latin-1"))
    assert STATEMENT in written
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    write_figure(paths[1], means, SETTINGS, "accuracy")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    # The control: another figure has other bytes.
    write_figure(paths[1], means[1:], SETTINGS, "accuracy")
    assert paths[0].read_bytes() != paths[1].read_bytes()


def test_the_picture_itself_says_that_it_is_not_private(means):
    said = draw(means, SETTINGS, "accuracy").get_supxlabel()
    assert "computed WITHOUT privacy" in " ".join(said.split())


def test_budgets_are_exact(means):
    near = [replace(m, epsilon=1.0000004) for m in means if m.epsilon == 1.0]
    axis = draw(near, {**SETTINGS, "delta": 1.0000004e-5}, "accuracy").axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1.0000004"]
    assert axis.get_xlabel() == "epsilon (delta = 1.0000004e-05)"


def test_every_line_is_named_once_and_unsound_ones_are_marked(means):
    (legend,) = draw(means, SETTINGS, "accuracy").legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *("gd", "agd", "agd:as-published (not private)"),
        *("majority (not private)", "nonprivate (not private)"),
    ]


def test_names_of_lines_are_within_the_picture(means):
    both = draw(means, SETTINGS, "accuracy")
    long = [m if m.epsilon is None else replace(m, algorithm=f"{m.algorithm:x<12}") for m in means]
    one = draw([m for m in long if m.data == "a"], SETTINGS, "accuracy")
    for figure, columns in ((both, 3), (one, 2)):
        (legend,) = figure.legends
        assert legend.get_window_extent().width <= figure.bbox.width
        assert legend._ncols == columns
    # Fewer names side by side take more lines.
    assert one.get_figheight() > both.get_figheight()


def test_lines_differ_without_colour(means):
    first, second = draw(means, SETTINGS, "accuracy").axes
    assert [axis.get_title() for axis in (first, second)] == ["a", "b"]
    curves = [
        line for line in first.lines if line.get_label() in NAMES[:2] or "agd:" in line.get_label()
    ]
    assert len({curve.get_marker() for curve in curves}) == 3
    assert len({str(curve._unscaled_dash_pattern) for curve in curves}) == 3
    # What is not private has hollow points.
    assert [curve.get_markerfacecolor() for curve in curves] == [*COLOURS[:2], "white"]
    # Points stand in the order of epsilon, whatever the order of the fits.
    assert curves[1].get_xdata().tolist() == [0.5, 1.0]


def test_points_of_one_epsilon_are_side_by_side(means):
    """The middle curve of three at the epsilon itself, the others a fifth of the way at most."""
    axis = draw(means, SETTINGS, "accuracy").axes[0]
    first, middle, last = [line.get_xdata()[1] for line in axis.lines if line.get_marker() in "os^"]
    assert 2**-0.2 == pytest.approx(first) and middle == 1.0 and 2**0.2 == pytest.approx(last)


def test_a_panel_for_each_algorithm(means):
    axes = draw(means, SETTINGS, "objective", "algorithm").axes
    assert [axis.get_title() for axis in axes] == list(NAMES[:3])
    assert axes[0].get_legend_handles_labels()[1] == ["a", "b"]


def test_the_intervals_of_a_curve_are_one_broken_line(means):
    axis = draw(means, SETTINGS, "objective").axes[0]
    (_, intervals, *_) = [
        line for line in axis.lines if len(line.get_xdata()) > 1 and line.get_color() == COLOURS[1]
    ]
    assert intervals.get_xdata().tolist() == [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
    assert intervals.get_ydata().tolist()[:2] == [74.5, 75.5]


@pytest.mark.slow
def test_a_picture_is_small_and_its_text_is_text(tmp_path):
    """Glyphs drawn as paths, and a style at every point, made 176 KB of such a comparison."""
    epsilons = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    many = [
        mean(f"data {data}", f"algorithm-{name}", epsilon, 70.1234567 + name + epsilon)
        for data in range(3)
        for name in range(11)
        for epsilon in epsilons
    ]
    path = tmp_path / "f.svg"
    write_figure(path, many, SETTINGS, "accuracy")
    assert path.stat().st_size <= 30 * 1024
    root = ElementTree.parse(path).getroot()
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"algorithm-8", "data 2", "0.05", "epsilon (delta = 1e-08)"} <= texts
    # Whatever is referred to is there.
    written = path.read_text()
    named = set(re.findall(r'\bid="(\w+)"', written))
    assert set(re.findall(r'(?:url\(|href=")#(\w+)', written)) == named
    assert set(re.findall(r'class="(\w+)"', written)) == set(re.findall(r"\.(c\d+)\{", written))


def test_seconds_have_no_majority_and_a_scale_of_ratios(means):
    axis = draw(means, SETTINGS, "seconds").axes[0]
    assert axis.get_yscale() == "log"
    assert "majority (not private)" not in axis.get_legend_handles_labels()[1]


def test_an_accuracy_is_a_share_however_wide_its_interval(means):
    wide = [replace(mean, half_width=300.0) for mean in means]
    assert draw(wide, SETTINGS, "accuracy").axes[0].get_ylim() == (0.0, 100.0)
    assert draw(wide, SETTINGS, "objective").axes[0].get_ylim()[1] > 300


def test_a_remark_and_a_note_are_in_the_picture(means):
    figure = draw(means, SETTINGS, "accuracy", remarks={"b": "seen"}, note="Left out: nothing.")
    assert [axis.get_title() for axis in figure.axes] == ["a", "b (seen)"]
    assert "Left out: nothing." in figure.get_supxlabel()
    # An objective says its regulariser.
    words = draw(means, {**SETTINGS, "l2": 0.25}, "objective").get_supxlabel()
    assert "logistic, l2 = 0.25, replace-one" in words


def test_a_line_has_the_look_that_it_is_given(means):
    """In all figures of the papers an algorithm has one colour."""
    looks = {"agd": curve_style(5), "nobody": curve_style(6)}
    axis = draw(means, SETTINGS, "accuracy", looks=looks).axes[0]
    colours = {line.get_label(): line.get_color() for line in axis.lines}
    assert (colours["gd"], colours["agd"]) == (COLOURS[0], COLOURS[5])


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match=r"as \.svg, \.png or \.pdf"):
        check_figure(tmp_path / "f.jpg")
    with pytest.raises(InvalidInputError, match="facet='loss' to be data or algorithm"):
        check_figure(tmp_path / "f.svg", "loss")
    with pytest.raises(InvalidInputError, match="Cannot write"):
        check_figure(tmp_path / "no" / "f.svg")
    with pytest.raises(InvalidInputError, match="No algorithm has a value"):
        draw([mean("a", "majority", None)], SETTINGS, "accuracy")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install 'dpcore\[plot\]'"):
        check_figure(tmp_path / "f.svg")
