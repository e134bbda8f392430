"""Pictures of a model: from what its file holds, and with the intervals that were released."""

import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Model
from dpcore_report.evaluation.metrics import metrics_of_classes, metrics_of_counts
from dpcore_report.pictures.axis import shown_numbers, ticks
from dpcore_report.pictures.contributions import contributions_of
from dpcore_report.pictures.of_model import pictures_of
from dpcore_report.pictures.svg import svg_of

COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 10, "fill": 5, "indicator": True},
    "size": {"kind": "ordinal", "levels": ["s", "m", "l"]},
    "town": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "y": {"kind": "label", "classes": ["no", "yes"]},
}
W = np.array([2.0, 0.5, 3.0, -1.0, 1.0, 0.25])


def model(**changes):
    return Model(
        w=W,
        schema=Schema.from_dict({"columns": COLUMNS}),
        loss="logistic",
        l2=0.0,
        algo={"name": "stub"},
        privacy={"private": True},
        ledger=(),
        status="Done.",
        details={},
        versions={},
        **changes,
    )


def intervals(covariance):
    return {"estimate": (W + 0.1).tolist(), "covariance": covariance.tolist()}


def test_a_column_adds_its_coefficients_and_an_empty_cell_its_fill_and_indicator():
    age, size, town = contributions_of(model())
    assert age.added[0, [0, -1]] == pytest.approx([0.0, 2.0])
    assert age.empty == pytest.approx([2.0 * 0.5 + 0.5])
    assert size.cells == ("s", "m", "l") and size.added[0] == pytest.approx([0.0, 1.5, 3.0])
    assert town.cells == ("Bern", "Basel") and town.added[0] == pytest.approx([-1.0, 1.0])
    assert town.reach is None and town.empty is None


def test_the_width_of_a_contribution_is_that_of_its_block_of_the_covariance():
    root = np.random.default_rng(1).normal(size=(6, 6))
    covariance = root @ root.T
    age, _, town = contributions_of(model(intervals=intervals(covariance)))
    # Of the number t = age / 10 alone the variance is t^2 C_00; of a level it is its own.
    assert age.reach[-1] == pytest.approx(1.959964 * math.sqrt(covariance[0, 0]))
    assert age.reach[0] == 0.0 and age.middle[-1] == pytest.approx(2.1)
    assert town.reach == pytest.approx(1.959964 * np.sqrt(np.diag(covariance)[3:5]))
    # The twin that takes the block of the columns before.
    assert town.reach != pytest.approx(1.959964 * np.sqrt(np.diag(covariance)[2:4]))


def held_out(deviation):
    counts = np.outer([1.0, 1.0], np.full(16, 100.0))
    counts[0] *= np.linspace(2, 0, 16)
    counts[1] *= np.linspace(0, 2, 16)
    return metrics_of_counts(counts, ("no", "yes"), deviation, log_odds=True)


def panels(fitted):
    return {panel.title: panel for picture in pictures_of(fitted) for panel in picture.panels}


def test_calibration_and_roc_are_of_released_metrics_and_noise_leaves_them_out():
    found = panels(model(evaluation=held_out(1.0)))
    (roc,) = [panel for title, panel in found.items() if title.startswith("ROC: AUC")]
    (curve,) = roc.series
    assert curve.places[0] == curve.values[0] == 0.0 and curve.places[-1] == curve.values[-1] == 1.0
    pairs = zip(curve.low, curve.values, curve.high, strict=True)
    assert all(low <= value <= high for low, value, high in pairs)
    # The area below the curve is the AUC of binned scores.
    assert np.trapezoid(curve.values, curve.places) == pytest.approx(
        held_out(1.0)["auc_of_bins"]["value"], abs=1e-9
    )
    assert len(found["Calibration"].places) > 10
    swallowed = panels(model(evaluation=held_out(1e6)))
    assert not any(title.startswith("ROC") for title in swallowed)


def test_every_panel_is_well_formed_and_its_texts_are_no_markup():
    evil = "<script>\x1b"
    named = {f"{name}{evil}": column for name, column in COLUMNS.items()}
    fitted = replace(model(evaluation=held_out(1.0)), schema=Schema.from_dict({"columns": named}))
    drawn = [svg_of(panel) for panel in panels(fitted).values()]
    assert len(drawn) >= 6
    for svg in drawn:
        tags = {element.tag for element in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "title", "text", "line", "rect", "circle", "polyline", "polygon"}
        assert "href" not in svg and "\x1b" not in svg


def test_ticks_are_round_and_told_apart():
    assert ticks(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert shown_numbers(ticks(-3.0, 5.0)) == ["-2", "0", "2", "4"]


@pytest.mark.parametrize(("columns", "buckets"), [(100, 4), (1, 65_536)])
def test_of_many_columns_and_of_many_levels_those_that_add_most_are_drawn(columns, buckets):
    # A square matrix of 65,536 levels would take 34 GB.
    hashed = {f"c{k}": {"kind": "hashed", "buckets": buckets} for k in range(columns)}
    schema = Schema.from_dict({"columns": hashed | {"y": COLUMNS["y"]}})
    w = np.linspace(0.0, 1.0, columns * buckets + 1) ** 2  # the last columns and levels most
    (drawn,) = (p for p in pictures_of(replace(model(), w=w, schema=schema)) if "adds" in p.title)
    assert len(drawn.panels) == min(columns, 60)
    assert drawn.told.startswith("Of 100 columns those 60 that add most. ") == (columns == 100)
    assert drawn.panels[-1].title.startswith(f"c{columns - 1}")
    assert len(drawn.panels[-1].places) == min(buckets, 24)


def test_the_roc_of_each_class_is_of_its_rows_against_the_others():
    """Each was in the place of the other: curves of good models were below the diagonal."""
    rising, falling = np.linspace(0.0, 2.0, 16), np.linspace(2.0, 0.0, 16)
    cells = np.full((3, 3), 300.0)
    bins = np.column_stack([np.tile(100 * rising, (3, 1)), np.tile(100 * falling, (3, 1))])
    names = ("a", "b", "c")
    metrics = metrics_of_classes(np.hstack([cells, bins]), names, 1.0, 1, 0, weighted=False)
    (roc,) = [p for title, p in panels(model(evaluation=metrics)).items() if "ROC" in title]
    assert len(roc.series) == 3
    for name, curve in zip(names, roc.series, strict=True):
        auc = metrics["auc_of_class"][name]["value"]
        assert auc > 0.75 and curve.name.startswith(f"{name} {auc:.3f} [")
        assert np.trapezoid(curve.values, curve.places) == pytest.approx(auc, abs=1e-9)
        assert curve.places[0] == 0.0 and curve.places[-1] == 1.0
