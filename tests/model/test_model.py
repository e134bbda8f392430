"""The model file: what is written comes back to the bit, and nothing else is accepted."""

import json

import numpy as np
import pytest
from scipy import sparse

from dpcore import Schema, load_model
from dpcore.data.arrays import features_from_arrays
from dpcore.errors import DpcoreError, ModelFileError
from dpcore.model.details import plain
from dpcore.model.file import check_replaceable, checksum
from dpcore.plugin.parts import Model, PrivacyStatement

SCHEMA = {"width": 2, "row_norm": 2.0, "columns": {"label": {"kind": "label", "classes": [0, 1]}}}


PRIVACY = PrivacyStatement(
    epsilon=1.0,
    delta=1e-8,
    relation="replace-one",
    accountant="zcdp",
    conversion="tight",
    unit="rho",
    budget=0.01,
    spent=0.009,
    releases={"count": 2},
).to_dict()


def model(schema=None, w=(0.1, -1 / 3, 0.25)):
    return Model(
        w=np.array(w),
        schema=Schema.from_dict(schema or SCHEMA),
        loss="logistic",
        l2=0.0,
        algo={"name": "stub"},
        privacy=PRIVACY,
        ledger=({"kind": "count", "mechanism": "Gaussian", "count": 2, "cost": 0.5},),
        status="Done.",
        details={"steps": 2},
        versions={"python": "3"},
        report={"diagnostics": "not for the file"},
    )


@pytest.fixture
def path(tmp_path):
    model().save(tmp_path / "m.json")
    return tmp_path / "m.json"


def rewrite(path, change):
    """Change the content and put the right checksum over it, as a careful forger would."""
    content = json.loads(path.read_text())
    del content["checksum"]
    change(content)
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))


def test_round_trip(path):
    first, second = model(), load_model(path)
    assert np.array_equal(first.w, second.w)
    assert first.schema == second.schema
    for name in ("loss", "l2", "algo", "privacy", "ledger", "status", "details", "versions"):
        assert getattr(first, name) == getattr(second, name)
    assert "not for the file" not in path.read_text()
    assert json.loads(path.read_text())["intercept"] == 0.25
    assert [p.name for p in path.parent.iterdir()] == ["m.json"]


def test_margins_and_labels():
    fitted = model()
    X = np.array([[0.5, 0.25], [0.0, 1.0], [8.0, 6.0]])
    w = np.round(fitted.w * 2**24) / 2**24
    rows = np.column_stack([X, np.ones(3)])
    rows *= np.minimum(1.0, 2.0 / np.linalg.norm(rows, axis=1))[:, None]
    expected = rows @ w
    assert np.allclose(fitted.decision_function(X), expected, atol=2.0**-14)
    assert np.array_equal(
        fitted.decision_function(sparse.csr_matrix(X)), fitted.decision_function(X)
    )
    assert fitted.predict(X).tolist() == [1.0 if m > 0 else 0.0 for m in expected]
    assert fitted.decision_function(X[:0]).shape == (0,)


def test_a_regression_predicts_in_the_unit_of_its_target():
    label = {"kind": "label", "lower": 100.0, "upper": 900.0}
    fitted = model({**SCHEMA, "columns": {"label": label}})
    X = np.array([[0.5, 0.25]])
    margins = fitted.margins(features_from_arrays(X, fitted.schema)[0])
    assert fitted.classes is None
    assert np.array_equal(fitted.labels(margins), 500 + 400 * margins)
    assert np.array_equal(fitted.predict(X), fitted.labels(margins))
    assert np.array_equal(fitted.predict(X), fitted.decision_function(X))


def test_rows_of_another_width_are_refused():
    with pytest.raises(DpcoreError):
        model().predict(np.zeros((2, 5)))


def test_each_key_of_the_statement_is_needed(path):
    for key in ("private", "sentence", "epsilon", "delta", "neighboring_relation", "releases"):
        rest = {k: v for k, v in PRIVACY.items() if k != key}
        rewrite(path, lambda content, rest=rest: content.update(privacy=rest))
        with pytest.raises(ModelFileError, match=f"lacks '{key}'"):
            load_model(path)


def test_only_a_model_or_nothing_is_replaced(path):
    check_replaceable(path)
    check_replaceable(path.with_name("none.json"))
    check_replaceable("/dev/null")
    path.write_text(path.read_text()[:100])
    check_replaceable(path)
    path.write_text("")
    check_replaceable(path)
    for text in ("a,b\n", '{"format": "other"}', '{"x": 1, "format": "dpcore-model"}'):
        path.write_text(text)
        with pytest.raises(DpcoreError, match="is not a model file; choose another path"):
            check_replaceable(path)


def test_every_truncation_is_refused(path):
    text = path.read_text()
    for length in range(0, len(text.rstrip()), 37):
        path.write_text(text[:length])
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("format_version", 3, "version 3; this dpcore reads 1 and 2"),
        ("format_version", True, "version True"),
        ("format", "other", "not a dpcore model"),
        ("coefficients", [0.1], "one coefficient for each feature"),
        ("coefficients", [0.1, "a"], "a list of finite numbers"),
        ("coefficients", [0.1, True], "a list of finite numbers"),
        ("coefficients", [0.1, 10**400], "a list of finite numbers"),
        ("intercept", None, "do not fit"),
        ("intercept", "0", "a finite number or null"),
        ("feature_names", ["x1", "x3"], "do not fit"),
        ("classes", [1, 0], "do not fit"),
        ("classes", ["a"], "two classes"),
        ("row_norm", -1, "> 0"),
        ("row_norm", 3.0, "do not fit"),
        ("schema", {"columns": []}, "label"),
        ("schema", None, "an object"),
        ("privacy", [], "an object"),
        ("ledger", [1], "a list of objects"),
        ("l2", None, "a finite number"),
        ("loss", "logistics", "is not installed"),
        ("classes", [True, False], "do not fit"),
        ("sections", {"a": {"data": {}, "lines": "text", "part": "a:B"}}, "data and lines"),
        ("privacy", {}, "lacks 'private'"),
        ("privacy", {**PRIVACY, "private": 1}, "true or false"),
        ("privacy", {**PRIVACY, "private": "yes"}, "true or false"),
        ("privacy", {**PRIVACY, "private": False}, "contradict"),
        ("privacy", {**PRIVACY, "why_not_private": ["seeded"]}, "contradict"),
        ("privacy", {**PRIVACY, "why_not_private": None}, "a list of text"),
        ("privacy", {**PRIVACY, "epsilon": 0}, "> 0"),
        ("privacy", {**PRIVACY, "delta": 1}, "below 1"),
    ],
)
def test_wrong_fields_are_refused_under_a_right_checksum(path, key, value, text):
    rewrite(path, lambda content: content.update({key: value}))
    with pytest.raises(ModelFileError, match=text) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["coefficients", "schema", "privacy", "versions", "loss"])
def test_missing_fields_are_refused(path, key):
    rewrite(path, lambda content: content.pop(key))
    with pytest.raises(ModelFileError, match=f"lacks '{key}'"):
        load_model(path)


def test_altered_content_is_refused(path):
    text = path.read_text()
    path.write_text(text.replace('"epsilon": 1.0', '"epsilon": 0.1'))
    with pytest.raises(ModelFileError, match="altered"):
        load_model(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "NaN", '{"a": NaN}', "[" * 100_000, "\x00"]
)
def test_what_is_no_model_file_is_refused(path, text):
    path.write_text(text)
    with pytest.raises(ModelFileError):
        load_model(path)


def test_bytes_and_missing_files_are_refused(path):
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelFileError):
        load_model(path)
    with pytest.raises(ModelFileError, match="Cannot read"):
        load_model(path.parent)
    with pytest.raises(ModelFileError, match="No such file"):
        load_model(path.with_name("none.json"))


def test_values_that_are_not_finite_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        model(w=(np.nan, 0.0, 0.0)).save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("w", [[0.0, np.inf], [0.0], [[0.0, 0.0]], None, ["a", "b"]])
def test_coefficients_of_an_optimizer_are_checked(w):
    with pytest.raises(DpcoreError, match="stub returned no 2 finite coefficients"):
        Model.check_coefficients(w, (2,), "stub")


def test_plain_makes_any_detail_json():
    details = {
        "a": np.float64("nan"),
        1: np.arange(2),
        "b": (np.int64(3), object),
        "c": [True, None],
    }
    assert json.loads(json.dumps(plain(details), allow_nan=False)) == {
        "a": None,
        "1": [0, 1],
        "b": [3, "<class 'object'>"],
        "c": [True, None],
    }
