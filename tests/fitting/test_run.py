"""What one fit refuses before it spends anything."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.loading import are_ours_and_generated
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import Dataset, dataset_from_arrays

COLUMNS = {
    "x": {"kind": "numeric", "lower": 0, "upper": 1},
    "y": {"kind": "label", "classes": [0, 1]},
}
SCHEMA = Schema.from_dict({"columns": COLUMNS})


def no_release(session):
    raise AssertionError("something was released")


@pytest.mark.parametrize("part", [slice(None), np.arange(4) < 3])
def test_dropped_rows_are_refused_where_their_number_is_public(tmp_path, part):
    (tmp_path / "f.csv").write_text("x,y\n0,0\n1,1\nbad,1\n.5,0\n1,0\n")
    data = Dataset.from_file(tmp_path / "f.csv", SCHEMA, bad_rows="drop").take(part)
    assert data.rows_dropped
    plan = make_plan(Settings(relation="replace-one"))
    with pytest.raises(InvalidInputError, match="bad_rows='drop'.*take add-or-remove-one"):
        Run(plan, data, on_release=no_release).model()
    model = Run(make_plan(Settings()), data).model()
    assert np.isfinite(model.w).all()


def test_rows_read_with_refusal_may_have_a_public_number(tmp_path):
    (tmp_path / "f.csv").write_text("x,y\n0,0\n1,1\n.5,0\n")
    data = Dataset.from_file(tmp_path / "f.csv", SCHEMA)
    assert not data.rows_dropped and not data.take(np.array([True, False, True])).rows_dropped
    model = Run(make_plan(Settings(relation="replace-one")), data).model()
    assert model.privacy["neighboring_relation"] == "replace-one"


def test_a_part_is_refused_where_the_number_of_rows_is_public(tmp_path):
    columns = {"z": {"kind": "categorical", "categories": ["a", "b"]}, **COLUMNS}
    (tmp_path / "f.csv").write_text("x,z,y\n0,a,0\n1,a,1\n.5,b,0\n1,a,0\n")
    schema = Schema.from_dict({"columns": columns})
    part = Dataset.from_file(tmp_path / "f.csv", schema).of_part("z=a")
    with pytest.raises(InvalidInputError, match="how many rows a part has is private"):
        Run(make_plan(Settings(relation="replace-one")), part, on_release=no_release).model()
    assert Run(make_plan(Settings()), part).model().privacy["part"] == "z=a"


def test_the_statement_has_the_public_number_of_rows_that_was_used(tmp_path):
    (tmp_path / "f.csv").write_text("x,y\n0,0\n1,1\n.5,0\n1,0\n")
    data = replace(Dataset.from_file(tmp_path / "f.csv", SCHEMA), schema=replace(SCHEMA, rows=300))
    model = Run(make_plan(Settings()), data, kept_fraction=0.5).model()
    assert model.privacy["n0"] == 150 and "n0 = 150, used as" in model.privacy["sentence"]


@pytest.mark.parametrize(
    ("is_generated", "parts", "is_ours"),
    [
        (True, ("dpcore_tables.datasets.census_sim:load",), True),
        (True, ("dpcore_tables.datasets.census_sim:load", "my_rows:load"), False),
        (True, (), False),  # Anybody's word
        (False, ("dpcore_tables.datasets.census_sim:load",), False),
    ],
)
def test_rows_are_no_secret_only_where_dpcore_generated_them(is_generated, parts, is_ours):
    data = replace(dataset_from_arrays(np.zeros((1, 1)), [1]), is_generated=is_generated)
    assert are_ours_and_generated(data, parts) is is_ours
