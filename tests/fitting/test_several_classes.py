"""Fits of three classes and more: the loss that nobody named, what is refused, exact metrics."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema, fit, load_model
from dpcore.errors import DpcoreError, DpcoreWarning, InvalidInputError
from dpcore.fitting.planning.usual_loss import loss_of_rows
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest
from dpcore.plugin.parts import ChargeLog
from dpcore_tables.files import FILES
from dpcore_tables.statistics import open_session
from dpcore_tables.store import convert

CLASSES = ("a", "b", "c")
SCHEMA = {
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "z": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["a", "b", ["c", "c2"]]},
    }
}
TOML = Schema.from_dict(SCHEMA).to_toml()


def rows(n=400, seed=4):
    """Return rows of three classes that a linear model tells apart, mostly of the first."""
    rng = np.random.default_rng(seed)
    place = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    centres = np.array([[0.1, 0.1], [0.9, 0.2], [0.3, 0.9]])
    X = np.clip(centres[place] + rng.normal(0, 0.15, (n, 2)), 0, 1)
    return X, np.array(CLASSES)[place]


@pytest.fixture(scope="module")
def exact():
    """The exact fit of these rows, by the reference without privacy."""
    X, y = rows()
    return fit(X, y, classes=CLASSES, bounds=(0, 1), row_norm=None, algo="nonprivate", l2=1e-3)


@pytest.fixture
def charges(monkeypatch):
    """Every charge of every session."""
    made, charge = [], ChargeLog.charge

    def recorded(self, *arguments):
        made.append(arguments)
        return charge(self, *arguments)

    monkeypatch.setattr(ChargeLog, "charge", recorded)
    return made


@pytest.mark.slow
def test_three_classes_are_fitted_by_softmax_where_nobody_named_a_loss(exact):
    X, y = rows()
    assert (exact.loss, exact.w.shape) == ("softmax", (3, 3))
    assert exact.score(X, y) > 0.97
    assert exact.report["loss"] == "softmax" and exact.classes == CLASSES


def test_a_private_fit_of_three_classes(tmp_path):
    X, y = rows()
    model = fit(X, y, classes=CLASSES, bounds=(0, 1), row_norm=None, epsilon=30.0, algo="dp-gd")
    assert model.privacy["private"] and model.w.shape == (3, 3) and model.loss == "softmax"
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "m.json")
    assert np.array_equal(load_model(tmp_path / "m.json").w, model.w)


def test_a_class_without_a_row_trains():
    X, y = rows()
    words = {"bounds": (0, 1), "row_norm": None, "epsilon": 1.0, "algo": "dp-gd"}
    model = fit(X, y, classes=(*CLASSES, "nobody"), **words)
    assert model.w.shape == (4, 3) and model.classes[3] == "nobody"
    assert np.isfinite(model.w).all()


def test_the_same_classes_come_from_arrays_frames_and_files(tmp_path, exact):
    X, y = rows()
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y})
    frame.to_csv(tmp_path / "r.csv", index=False)
    convert(tmp_path / "r.csv", tmp_path / "r.dpcore", Schema.from_dict(SCHEMA))
    words = {"algo": "nonprivate", "l2": 1e-3}
    for given in (
        fit(frame, schema=SCHEMA, **words),
        fit(tmp_path / "r.csv", schema=SCHEMA, **words),
        fit(tmp_path / "r.dpcore", **words),
    ):
        assert given.loss == "softmax" and np.array_equal(given.w, exact.w)


def test_the_callers_own_classes_come_back():
    X, y = rows()
    numbers = np.searchsorted(CLASSES, y) + 0.5
    model = fit(X, numbers, classes=(0.5, 1.5, 2.5), bounds=(0, 1), algo="nonprivate")
    assert model.predict(X).dtype == np.float64 and model.classes == (0.5, 1.5, 2.5)


@pytest.mark.parametrize("words", [{}, {"multiclass": "ovr"}])
def test_classes_may_come_from_an_iterator(words):
    X, y = rows(40)
    words = {"bounds": (0, 1), "algo": "dp-gd", "params": {"steps": 2}, "seed": 1, **words}
    model = fit(X, y, classes=iter(CLASSES), **words)
    listed = fit(X, y, classes=CLASSES, **words)
    assert model.classes == CLASSES and np.array_equal(model.w, listed.w)


@pytest.mark.parametrize("bad", [("a",), (), ("a", "b", "a"), ("a", "b"), ("a", "b", "d")])
def test_bad_classes_of_frames_and_files_are_refused_before_anything_is_spent(
    charges, bad, tmp_path
):
    X, y = rows(40)
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y})
    frame.to_csv(tmp_path / "r.csv", index=False)
    label = {"kind": "label", "classes": [*bad]}
    schema = {"columns": {**SCHEMA["columns"], "y": label}}
    told = "to be two or more|Duplicate values among the classes|not one of the classes"
    for given in (frame, tmp_path / "r.csv"):
        for words in ({}, {"multiclass": "ovr"}):
            with pytest.raises(DpcoreError, match=told) as caught:
                fit(given, schema=schema, algo="dp-gd", **words)
            assert "\n" not in str(caught.value) and not charges


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"loss": "logistic"}, "logistic does not fit a label with 3 classes; use --loss softmax"),
        ({"loss": "hinge-svm"}, "hinge-svm does not fit a label with 3 classes; .*softmax"),
        (
            {"loss": "softmax", "classes": ("a", ("b", "c"))},
            "softmax does not fit a label with two classes; use --loss logistic",
        ),
        (
            {"loss": "softmax", "classes": None, "target_bounds": (0, 1)},
            "softmax does not fit a label with a real-valued target; use --loss ridge",
        ),
        ({"algo": "objpert"}, "objpert is for two classes, and the label has 3; these take sev"),
        ({"classes": ("a",)}, "to be two or more"),
        ({"classes": ("a", "b", "a")}, "Duplicate values among the classes"),
        ({"classes": ("a", "b", "d")}, "not one of the classes 'a', 'b', 'd'"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line_before_anything_is_spent(charges, words, message):
    X, y = rows(40)
    if "target_bounds" in words:
        y = X[:, 0]
    with pytest.raises(DpcoreError, match=message) as caught:
        fit(X, y, **{"classes": CLASSES, "bounds": (0, 1), "algo": "dp-gd", **words})
    assert "\n" not in str(caught.value) and not charges


def test_those_that_take_several_classes_are_named():
    X, y = rows(40)
    with pytest.raises(InvalidInputError, match="take several: .*dp-gd"):
        fit(X, y, classes=CLASSES, bounds=(0, 1), algo="objpert")


@pytest.mark.parametrize(
    ("classes", "loss"),
    [(None, "logistic"), (("a", "b"), "logistic"), (CLASSES, "softmax"), (5, "logistic")],
)
def test_the_loss_goes_by_the_number_of_classes(classes, loss):
    assert loss_of_rows(None, classes) == loss
    assert loss_of_rows(None, None if classes is None else np.array(classes)) == loss


def test_a_schema_says_the_loss_and_several_only_if_all_are_of_more_than_two(tmp_path):
    three = Schema.from_dict(SCHEMA)
    two = {**SCHEMA["columns"], "y": {"kind": "label", "classes": ["a", "b"]}}
    two = Schema.from_dict({"columns": two})
    number = {**SCHEMA["columns"], "y": {"kind": "label", "lower": 0, "upper": 1}}
    number = Schema.from_dict({"columns": number})
    assert Settings.usual_loss(number) == Settings.usual_loss(number, number) == "ridge"
    assert Settings.usual_loss(number, three) == Settings.usual_loss(number, None) == "logistic"
    assert loss_of_rows(number, None) == "ridge"
    assert loss_of_rows(None, None, target_bounds=(0, 1)) == "ridge"
    assert Settings.usual_loss(three, three) == "softmax"
    assert (
        Settings.usual_loss(three, two)
        == Settings.usual_loss(None)
        == Settings.usual_loss()
        == "logistic"
    )
    assert loss_of_rows(three, None) == "softmax"


def test_a_request_has_its_schema_before_the_rows_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(TOML)
    X, y = rows(60)
    pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y}).to_csv("r.csv", index=False)
    read = FILES.with_schema(DataRequest("r.csv", Path("s.toml")))
    Path("s.toml").unlink()  # It is read once.
    assert FILES.schema_of_rows(read).label.names == CLASSES
    off = FILES.with_schema(DataRequest("r.csv", target="y", schema_from_data=True))
    Path("r.csv").unlink()
    assert FILES.schema_of_rows(off).label.names == CLASSES and off.schema.from_data
    assert not off.schema_from_data
    assert FILES.schema_of_rows(DataRequest("r.csv")) is None
    assert FILES.schema_of_rows(DataRequest("there-is-none.dpcore")) is None
    assert FILES.schema_of_rows(DataRequest("kddcup99-10-classes")).label.n_classes == 5
    assert FILES.schema_of_rows(FILES.with_schema(DataRequest("census-sim"))).label.n_classes == 2
    with pytest.raises(InvalidInputError, match="one of schema and schema-from-data"):
        FILES.with_schema(DataRequest("r.csv", Path("s.toml"), target="y", schema_from_data=True))


def test_a_session_counts_the_rows_of_each_class():
    X, y = rows(500)
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y})
    with (
        pytest.warns(DpcoreWarning, match="epsilon"),
        open_session(frame, schema=SCHEMA, epsilon=1e4, delta=1e-8) as session,
    ):
        counts = session.histogram("y", share=0.5)
        parts = session.parts("y")
        inside = {name: part.count(share=0.2) for name, part in parts.items()}
    expected = [np.sum(y == name) for name in CLASSES]
    assert counts == pytest.approx(expected, abs=1)
    assert [inside[name] for name in CLASSES] == pytest.approx(expected, abs=1)
    assert session.problem.n_margins == 3 and session.problem.loss.name == "softmax"
