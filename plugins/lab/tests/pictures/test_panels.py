"""Pictures of a model by matplotlib: all that a report draws, and the same bytes every time."""

import json
import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore_lab.commands.plot import plot_command
from dpcore_lab.pictures.of_ledger import ledger_picture
from dpcore_lab.pictures.of_model import model_pictures
from dpcore_lab.pictures.panels import draw_pictures, write_pictures

pytest.importorskip("matplotlib")
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.slow
def test_a_model_is_drawn_whole_or_in_part(model, tmp_path):
    model.save(tmp_path / "m.json")
    path = str(tmp_path / "m.json")
    plot_command(path, out=tmp_path / "m.svg")
    drawn = (tmp_path / "m.svg").read_text()
    for text in ("Coefficients", "What each column adds", "On rows held out", "Calibration"):
        assert f">{text}<" in drawn
    assert all(f">{name}<" in drawn for name in ("age", "town", "seen", "seen.month", "Basel"))
    assert "estimate, 95 %" in drawn
    plot_command(path, out=tmp_path / "n.svg")
    assert drawn == (tmp_path / "n.svg").read_text()
    plot_command(path, show="held-out", out=tmp_path / "h.svg")
    assert ">Coefficients<" not in (tmp_path / "h.svg").read_text()


def test_what_a_model_does_not_have_is_refused(unnamed, tmp_path):
    unnamed.save(tmp_path / "m.json")
    out = {"out": tmp_path / "m.svg"}
    refused = [
        ({"show": "columns", **out}, "is of a model with named columns"),
        ({"show": "held-out", **out}, "--evaluate-share releases it"),
        ({"show": "curve", **out}, "to be one of coefficients, columns, held-out"),
        ({"y": "objective", **out}, "--y is of results, which this file is not"),
        ({"facet": "algorithm", **out}, "--facet is of results"),
        ({"markdown": True, **out}, "--markdown is of results"),
        ({}, "Expected --out FIGURE"),
        ({"out": tmp_path / "m.json"}, "is the file of FILE"),
    ]
    before = sorted(tmp_path.iterdir())
    for given, told in refused:
        with pytest.raises(InvalidInputError, match=told):
            plot_command(str(tmp_path / "m.json"), **given)
    assert sorted(tmp_path.iterdir()) == before


def test_intervals_and_values_are_where_the_panels_have_them(model, tmp_path):
    model.save(tmp_path / "m.json")
    pictures = model_pictures(str(tmp_path / "m.json"))
    assert len(pictures) == 3
    axes = [axis for axis in draw_pictures(pictures).axes if axis.axison]
    panels = [panel for picture in pictures for panel in picture.panels]
    for axis, panel in zip(axes, panels, strict=True):
        own = panel.series[0].values
        if panel.rows:
            assert [bar.get_width() for bar in axis.patches] == pytest.approx(own)
            names = [text.get_text() for text in axis.get_yticklabels()]
            assert names == [*panel.rows] and axis.yaxis_inverted()
    (calibration,) = [axis for axis in axes if axis.get_title() == "Calibration"]
    (bars,) = calibration.containers
    (ends,) = bars[2][0].get_segments()
    # The control: an interval that is not even about its value keeps both of its ends.
    assert ends[:, 1] == pytest.approx([0.4, 0.7])
    assert bars[0].get_xydata().tolist() == [[0.5, 0.5]]


def test_texts_of_a_file_are_no_markup_of_a_figure(model, tmp_path):
    """A name between two dollars had been set as a formula, and a broken one not at all."""
    odd = "a $\\frac{$ & <b> \x1b"
    columns = {"a": {"kind": "categorical", "categories": [odd, "b"]}}
    y = {"kind": "label", "classes": ["no", "yes"]}
    schema = Schema.from_dict({"columns": columns | {"y": y}})
    replace(model, schema=schema, w=np.ones(3), intervals=None).save(tmp_path / "m.json")
    write_pictures(tmp_path / "f.svg", model_pictures(str(tmp_path / "m.json")), "about")
    drawn, modes = (
        (tmp_path / "f.svg").read_text(),
        [(tmp_path / n).stat().st_mode for n in ("f.svg", "m.json")],
    )
    assert modes[0] == modes[1]  # a model's picture is as readable as the model
    assert r"a $\frac{$ &amp; &lt;b&gt; \x1b" in drawn


@pytest.mark.slow
@pytest.mark.parametrize("days", [1e-4, 0.3, 5.0, 40.0, 700.0, 20_000.0])
def test_dates_of_any_reach_have_ticks_without_a_warning(days, tmp_path):
    history = [{"at": at.isoformat(), "spent": [0.1]} for at in (START, START + timedelta(days))]
    budget = {"budget": 1.0, "unit": "rho", "epsilon": 1, "delta": 0, "accountant": "zcdp"}
    told = {"id": "", "promise": "", "budgets": [budget], "history": history}
    (tmp_path / "l.json").write_text(json.dumps(told))
    (axis,) = draw_pictures([ledger_picture(str(tmp_path / "l.json"))]).axes[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(axis.get_xticks()) >= 2
