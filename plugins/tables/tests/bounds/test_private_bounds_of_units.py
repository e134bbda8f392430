"""Private bounds in a fit whose guarantee is for units of several rows."""

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.fitting import run_state
from dpcore.fitting.rows.unbounded import encoded_rows
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import TableSession
from dpcore.session.charges import Charges
from dpcore_tables.bounds.choice import CountNoise, are_defaults, bounds_of

K, N_UNITS = 3, 240
LABEL = {"kind": "label", "classes": ["n", "p"]}
SCHEMA = {"columns": {"x": {"kind": "numeric"}, "y": LABEL}, "unit": "id", "rows_per_unit": K}
OF_A_ROW = {"l1": 2.0, "l2": 2.0**0.5}
"""The norm of a row's counts of one column."""


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.uniform(100.0, 200.0, 5 * N_UNITS)
    labels = np.where(x + 20 * rng.normal(size=x.size) > 150, "p", "n")
    return pd.DataFrame({"id": [f"p{i % N_UNITS}" for i in range(x.size)], "x": x, "y": labels})


class RecordingSession(TableSession):
    """A session that keeps what it released, and how, but for what a dry run did."""

    released: list = []

    def release(self, query, mechanism):
        value = super().release(query, mechanism)
        if self._noise.seeded:
            return value
        sensitivity = self._sensitivity(query)
        scale = float(mechanism.scale(sensitivity).over(1.0, 0))
        self.released.append((sensitivity, scale, value))
        return value


@pytest.fixture
def released(monkeypatch):
    RecordingSession.released = []
    monkeypatch.setattr(run_state, "TableSession", RecordingSession)
    return RecordingSession.released


def fitted(frame, algo="dp-gd", relation="add-or-remove-one", **options):
    params = {"steps": 3} if algo == "dp-gd" else {}
    asked = {"algo": algo, "relation": relation, "params": params, "private_bounds": True}
    return dpcore.fit(frame, schema=SCHEMA, epsilon=4.0, **asked, **options)


def require_units(released, relation):
    """Raise AssertionError unless the release is charged for all rows of a unit."""
    ((sensitivity, _, _),) = released
    steps = K if relation == "add-or-remove-one" else 2 * K
    least = steps * OF_A_ROW[sensitivity.norm]
    assert sensitivity.relation.value == relation
    assert least <= sensitivity.bound * (1 + 1e-15) and sensitivity.bound < least * 1.001


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize(
    ("algo", "options", "spread"),
    [("dp-gd", {}, 1.0), ("privgene", {"delta": 0.0, "accountant": "pure"}, 2**0.5)],
    ids=["normal", "geometric"],
)
def test_bounds_are_charged_for_all_rows_of_a_unit(
    frame, released, algo, options, spread, relation
):
    model = fitted(frame, algo, relation, **options)
    require_units(released, relation)
    privacy, (column,) = model.privacy, model.schema.features
    assert privacy["private"] and privacy["epsilon"] == 4.0
    assert privacy["units"]["rows_per_unit"] == K
    assert model.ledger[0]["kind"] == "bounds" == next(iter(privacy["releases"]))
    for part in ("any one value of 'id'", "bounds of 'x' were not public"):
        assert part in privacy["sentence"]
    # The choice reckons with as much noise as was added.
    _, scale, counts = released[0]
    added = CountNoise(spread * scale, spread == 1.0, 1)
    assert (column.lower, column.upper) == bounds_of(counts, added, None, None)
    unseen = {"unseen": ["x"]} if are_defaults(counts, added, None, None) else {}
    assert privacy["private_bounds"] == {"columns": ["x"], "share": 0.1} | unseen


def test_a_charge_for_one_row_is_found(frame, released, monkeypatch):
    class OfRows(RecordingSession):
        def __init__(self, *args, problem=None, **options):
            super().__init__(*args, **options)

    monkeypatch.setattr(run_state, "TableSession", OfRows)
    fitted(frame)
    with pytest.raises(AssertionError):
        require_units(released, "add-or-remove-one")


def test_bounds_are_of_the_rows_that_are_kept(frame, released, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns = "[columns]\nx = { kind = 'numeric' }\ny = { kind = 'label', classes = ['n', 'p'] }\n"
    (tmp_path / "schema.toml").write_text(columns)
    names = {"unit": "id", "rows_per_unit": K, "private_bounds": True}
    request = DataRequest(str(tmp_path / "rows.csv"), tmp_path / "schema.toml", **names)
    training = Run.train(make_plan(Settings("dp-gd", epsilon=1e4, params={"steps": 3})), request)
    ((_, _, counts),) = released
    assert abs(counts[counts > 9].sum() - 2 * K * N_UNITS) < 100  # Both levels; 2,400 rows in all.
    (column,) = training.model.schema.features
    assert 90 < column.lower < 110 and 190 < column.upper < 210
    assert training.report()["units"]["rows_per_unit"] == K
    assert training.report()["private_bounds"]["columns"] == ["x"]


@pytest.fixture
def files(frame, tmp_path):
    """A request of rows with ids, and of rows without to report on."""
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame[["x", "y"]].head(50).to_csv(tmp_path / "test.csv", index=False)
    columns = "[columns]\nx = { kind = 'numeric' }\ny = { kind = 'label', classes = ['n', 'p'] }\n"
    keys = f"unit = 'id'\nrows_per_unit = {K}\n"
    (tmp_path / "schema.toml").write_text(keys + columns)
    places = {"schema": tmp_path / "schema.toml", "test": tmp_path / "test.csv"}
    return DataRequest(str(tmp_path / "rows.csv"), private_bounds=True, **places)


def test_rows_to_report_on_need_no_ids(files):
    # They were refused for want of ids, after the whole budget was charged.
    plan = make_plan(Settings("dp-gd", epsilon=1e4, params={"steps": 3}))
    training = Run.train(plan, files)
    assert training.diagnostics["test_accuracy"] > 0.5
    assert training.model.schema.unit == "id"


def test_rows_to_report_on_that_do_not_fit_are_refused_before_any_charge(files, monkeypatch):
    def encoded(dataset, schema):
        if dataset.units is None:  # Those that are reported on.
            raise InvalidInputError("no such form")
        return encoded_rows(dataset, schema)

    for place in ("dpcore.fitting.rows.unbounded", "dpcore.fitting.run"):
        monkeypatch.setattr(f"{place}.encoded_rows", encoded)
    plan, charges = make_plan(Settings("dp-gd", epsilon=1e4, params={"steps": 3})), Charges()
    with pytest.raises(InvalidInputError, match="no such form"):
        Run.train(plan, files, charges=charges)
    assert charges.charged is None


def test_rows_stay_with_their_units_once_they_are_encoded(frame):
    params = {"steps": 3, "clip_unit": True}
    asked = {"algo": "dp-gd", "relation": "replace-one", "params": params, "epsilon": 4.0}
    columns = {"x": {"kind": "numeric", "lower": "private", "upper": 200}, "y": LABEL}
    model = dpcore.fit(frame, schema=SCHEMA | {"columns": columns}, **asked)
    assert model.report["units_train"] == N_UNITS
    assert model.privacy["releases"]["bounds"] == 1
