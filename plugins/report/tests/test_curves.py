"""Curves of a model in words: what a number adds at its knots, and why it is a curve."""

import dataclasses

import numpy as np
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Model
from dpcore_report.curves.of_columns import choice_in_words, curves_of
from dpcore_report.fitted import fitted_section

AGE = {"kind": "numeric", "lower": 0, "upper": 70, "knots": 8, "indicator": True}
PAY = {"kind": "numeric", "lower": 1, "upper": 16, "scale": "log", "knots": 5}
LABELS = {
    "two": {"kind": "label", "classes": ["no", "yes"]},
    "three": {"kind": "label", "classes": ["a", "b", "c"]},
    "real": {"kind": "label", "lower": 0, "upper": 10},
}


def model_of(label, **details):
    columns = {"k": {"kind": "boolean"}, "age": AGE, "pay": PAY, "y": LABELS[label]}
    schema = Schema.from_dict({"columns": columns})
    w = np.random.default_rng(1).normal(size=schema.w_shape)
    loss = {"two": "logistic", "three": "softmax", "real": "ridge"}[label]
    known = {"privacy": {"private": True, "why_not_private": [], "sentence": ""}, "versions": {}}
    algo = {"name": "dp-gd"}
    return Model(
        w=w,
        schema=schema,
        loss=loss,
        algo=algo,
        details=details,
        ledger=(),
        status="",
        l2=0.0,
        **known,
    )


@pytest.mark.parametrize("label", LABELS)
def test_a_curve_is_what_the_model_adds_at_its_knots(label):
    model = model_of(label)
    frame = {"k": [0] * 8, "age": 10.0 * np.arange(8), "pay": [1.0] * 8}
    import pandas as pd

    frame = pd.DataFrame(frame)
    margins = model.predict(frame) if label == "real" else model.decision_function(frame)
    margins = np.asarray(margins).reshape(8, -1).T
    found = [curve for curve in curves_of(model) if curve.column == "age"]
    assert len(found) == len(margins)
    for curve, at in zip(found, margins, strict=True):
        assert curve.knots == pytest.approx(10.0 * np.arange(8))
        if label != "real":  # whose predictions are held to the label's bounds
            # Features are on a grid of 2^-16.
            assert np.diff(curve.added) == pytest.approx(np.diff(at), abs=1e-3)


def test_knots_of_logarithms_are_in_the_unit_of_cells():
    pay = next(curve for curve in curves_of(model_of("two")) if curve.column == "pay")
    assert pay.knots == pytest.approx([1, 2, 4, 8, 16])


@pytest.mark.parametrize("label", LABELS)
def test_a_summary_has_a_short_table_of_curves_in_the_place_of_their_coefficients(label):
    model = model_of(label)
    summary, found = model.summary(), [*curves_of(model)]
    heads, lines = summary.curve_cells()
    of = 1 if label == "three" else 0
    assert heads[of:] == ("column", "", *"12345678") and len(lines) == 2 * len(found)
    for curve, cells, added in zip(found, lines[::2], lines[1::2], strict=True):
        n, first = len(curve.knots), of + 2
        assert cells[:first] == (*(str(curve.of_class),) * of, curve.column, "at")
        assert [float(cell) for cell in cells[first : first + n]] == pytest.approx(
            curve.knots, rel=1e-3
        )
        assert [float(cell) for cell in added[first : first + n]] == pytest.approx(
            curve.added, rel=1e-2
        )
    kept = {row[of : of + 2] for row in summary.cells()[1]}
    assert ("age", "is empty") in kept and not {("age", ""), ("pay", "")} & kept
    assert len(summary.to_frame()) == model.w.size  # with all coefficients
    assert "+" in repr(summary) and summary._repr_html_().count("<table") == 2
    assert len(summary.to_dict()["curves"]) == len(found)


def test_intervals_are_offered_beside_what_they_cost_a_curve():
    said = {
        text: "are straight lines" in text
        for text in model_of("two", u_with_hats=123.4).summary().notes
    }
    assert sum(said.values()) == 1 and all(
        "--intervals-share" in text for text in said if said[text]
    )
    assert not any("are straight lines" in text for text in model_of("two").summary().notes)


def test_the_report_says_which_numbers_are_curves_and_why():
    model = model_of("two", curves=2, u_with_hats=123.4)
    said = choice_in_words(model)
    assert "made curves of age, pay:" in said and "u = 123" in said
    assert said in [item.text for item in fitted_section(model).items]
    lines = dataclasses.replace(model, details={"curves": 0, "u_with_hats": 12.0})
    assert "lines without curves" in choice_in_words(lines)
    assert choice_in_words(model_of("two")) == ""
