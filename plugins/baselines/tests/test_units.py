"""DP-GD over units of several rows: their own sums clipped, and what the noise follows."""

import numpy as np
import pandas as pd
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import TableSession
from dpcore.session.unit_sensitivity import sensitivity_of_units
from dpcore_baselines.descent.step_size import StepSize

SCHEMA = {
    "unit": "id",
    "rows_per_unit": 6,
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["n", "p"]},
    },
}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.random(1800)
    labels = np.where(x + 0.2 * rng.normal(size=x.size) > 0.5, "p", "n")
    return pd.DataFrame({"id": np.arange(1800) // 6, "x": x, "y": labels})


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("clip_unit", [False, True])
def test_it_learns_over_units(frame, relation, clip_unit):
    params = {"clip_unit": clip_unit, "steps": 20}
    model = fit(frame, schema=SCHEMA, epsilon=8.0, algo="dp-gd", relation=relation, params=params)
    assert model.score(frame.drop(columns="y"), frame.y) > 0.8
    assert model.privacy["private"] and model.report["units"]["rows_per_unit"] == 6


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("clip_unit", [False, True])
def test_steps_are_told_the_noise_that_is_added(frame, relation, clip_unit, monkeypatch):
    # With clip_unit they were told k times as much.
    told, added = [], []
    next_step = StepSize.next_step

    def telling(self, v, gradient, deviation):
        told.append(deviation)
        return next_step(self, v, gradient, deviation)

    class RecordingSession(TableSession):
        def release(self, query, mechanism):
            if query.kind == "gradient":
                moved = sensitivity_of_units(query, self.relation, 6).bound
                added.append(mechanism.noise_multiplier * moved / 1800)
            return super().release(query, mechanism)

    monkeypatch.setattr(StepSize, "next_step", telling)
    monkeypatch.setattr("dpcore.fitting.run_sessions.TableSession", RecordingSession)
    asked = {"relation": relation, "params": {"clip_unit": clip_unit, "steps": 3}}
    fit(frame, schema=SCHEMA | {"rows": 1800}, epsilon=8.0, algo="dp-gd", **asked)
    assert len(told) == 3 and told == pytest.approx(added)


def test_units_are_needed_to_clip_them(frame):
    schema = {"columns": SCHEMA["columns"] | {"id": {"kind": "drop"}}}
    with pytest.raises(InvalidInputError, match="clip_unit needs units"):
        fit(frame, schema=schema, algo="dp-gd", params={"clip_unit": True})
