"""Graphs of models against the models themselves: bits of margins, labels, rows without a score."""

import dataclasses
import importlib.util
import json
import os

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from dpcore import Schema, fit, load_model
from dpcore.data.schema.columns import Label
from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import transforms
from dpcore.plugin.parts import Model
from dpcore_report.curves.of_columns import curves_of
from dpcore_report.exporters import content_of, exporter_of
from dpcore_report.fitted import fitted_section
from dpcore_report.onnx import arithmetic, columns
from dpcore_report.onnx.hashed import files_in, values_in, with_tables
from dpcore_report.onnx.model import graph_bytes

N = 2000
TWO = {"kind": "label", "classes": ["no", "yes"]}
REAL = {"kind": "label", "lower": 100.0, "upper": 900.0}
NUMBER = {"kind": "numeric", "lower": -3.0, "upper": 7.0}
KINDS = {
    "linear": (NUMBER, 2.5),
    "whole": ({"kind": "numeric", "lower": 17, "upper": 90}, 40),
    "log": ({"kind": "numeric", "lower": 0.003, "upper": 1e5, "scale": "log"}, 12.0),
    "near": ({"kind": "numeric", "lower": 1.1, "upper": 1.9, "scale": "log"}, 1.5),
    "binned": ({"kind": "numeric", "bins": [-1.0, 0.25, 5.0]}, 0.25),
    "hats": ({"kind": "numeric", "knots": [-2.0, 0.1, 0.3, 6.0]}, 0.1),
    "curve": ({**NUMBER, "knots": 8}, 2.5),
    "log curve": ({"kind": "numeric", "lower": 2, "upper": 900, "scale": "log", "knots": 5}, 12.0),
    "two knots": ({"kind": "numeric", "knots": [-2, 6]}, 0),
    "words": ({"kind": "categorical", "categories": ["a", "B b", "none", "03"]}, "B b"),
    "truth": ({"kind": "categorical", "categories": ["True", "false"]}, "false"),
    "numbers": ({"kind": "categorical", "categories": [1, 2.5, -9]}, 2.5),
    "ordinal": ({"kind": "ordinal", "levels": ["low", "mid", "top"]}, "mid"),
    "ordinal numbers": ({"kind": "ordinal", "levels": [3, 1, 2]}, 1),
    "boolean": ({"kind": "boolean"}, True),
}
EMPTY = {
    "refused": {},
    "fill": {"fill": None},
    "indicator": {"indicator": True},
    "both": {"fill": None, "indicator": True},
}
WORDS = ["a", "B b", "b b", "none", "03", "3", "TRUE", "true", "False", "fAlSe", "low", "mid"]
WORDS += ["top", "yes", "N", "1.0", "0", "on", "", "NA", "-8", "04", "nothing like it"]


def model_of(kinds, label=TWO, loss="logistic", multiclass=None, seed=0, **schema):
    """A model of columns and coefficients on no grid."""
    schema = Schema.from_dict({"columns": {**kinds, "y": label}, **schema})
    shape = schema.w_shape
    w = np.random.default_rng(seed).normal(size=shape) * 3
    privacy = {"private": True, "why_not_private": [], "sentence": "Nothing."}
    names = {"algo": {}, "versions": {}, "details": {}, "ledger": (), "status": "", "l2": 0.0}
    return Model(w=w, schema=schema, loss=loss, multiclass=multiclass, privacy=privacy, **names)


def cells_of(schema, n=N, seed=1):
    """Cells of all sorts for the columns of a schema: text or float64."""
    rng, cells = np.random.default_rng(seed), {}
    for column in schema.features:
        if columns.takes_text(column):
            cells[column.name] = pd.Series(rng.choice(WORDS, n), dtype=object)
            continue
        numbers = rng.normal(size=n) * 10.0 ** rng.integers(-3, 6, n)
        edges = [
            0.0,
            -0.0,
            1,
            2,
            2.5,
            3,
            7,
            -9,
            -8,
            4,
            -2,
            6,
            0.1,
            0.25,
            5,
            1e300,
            5e-324,
            -1e300,
            1.5,
        ]
        edges += [np.nan, np.inf, -np.inf, *np.ldexp(1.0, np.arange(-10, 20))]
        at = rng.random(n) < 0.5
        numbers[at] = rng.choice(edges, int(at.sum()))
        cells[column.name] = numbers
    return pd.DataFrame(cells)


def answers(model, frame):
    """What a runtime makes of the model's graph, by the outputs' names."""
    session = onnxruntime.InferenceSession(graph_bytes(model), providers=["CPUExecutionProvider"])
    assert [each.name for each in session.get_inputs()] == [*frame.columns]
    feed = {name: frame[name].to_numpy()[:, None] for name in frame.columns}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def check(model, frame):
    """Assert that the graph says what the model says, margins to the bit."""
    found, labels = answers(model, frame), model.predict(frame)
    if model.classes is None:
        assert [*found] == ["label"]
        np.testing.assert_array_equal(found["label"][:, 0], labels)
        return
    margins = model.decision_function(frame)
    scored = ~np.isnan(margins if margins.ndim == 1 else margins[:, 0])
    assert scored.mean() > 0.02
    raw = found["log_odds" if model.has_log_odds else "margin"]
    np.testing.assert_array_equal(raw.reshape(margins.shape), margins)
    said = found["label"][:, 0]
    assert said[scored].tolist() == labels[scored].tolist()
    assert all(label == "" or label != label for label in said[~scored])
    assert ("probability" in found) == model.has_probabilities
    if model.has_probabilities:
        chances = model.predict_proba(frame)
        np.testing.assert_allclose(found["probability"], chances, rtol=1e-12, atol=1e-300)


def with_keys(kind, empty):
    """A column of a kind, with the keys that say what an empty cell becomes."""
    column, fill = KINDS[kind]
    return {**column, **{key: value or fill for key, value in EMPTY[empty].items()}}


@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("kind", "empty"),
    # A one-hot column takes a fill or an indicator, not both.
    [
        (kind, empty)
        for kind in KINDS
        for empty in EMPTY
        if empty != "both" or kind not in ("binned", "words", "truth", "numbers")
    ],
)
def test_a_column_of_each_kind(kind, empty):
    other = {"kind": "numeric", "lower": 0, "upper": 1, "fill": 0}
    for missing in ([""], ["NA", "-8", "04"]):
        model = model_of({"column": with_keys(kind, empty), "other": other}, missing=missing)
        frame = cells_of(model.schema)
        frame["other"] = np.random.default_rng(2).uniform(-0.5, 1.5, N)
        check(model, frame)


def of_all_kinds(label=TWO, loss="logistic", multiclass=None, **schema):
    """A model of all kinds of columns that score nearly every row, and crosses."""
    kinds = {kind: with_keys(kind, "indicator") for kind in KINDS if "ordinal" not in kind}
    crosses = [{"columns": ["words", "binned"]}, {"columns": ["boolean", "numbers"]}]
    model = model_of(kinds, label, loss, multiclass, crosses=crosses, **schema)
    frame = cells_of(model.schema).replace([np.inf, -np.inf], 1e9)
    frame["boolean"] = np.random.default_rng(3).choice(["yes", "F", "ON", ""], N)
    return model, frame


@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("label", "loss", "multiclass"),
    [
        (TWO, "logistic", None),
        (TWO, "huber-svm", None),
        ({"kind": "label", "classes": [0, 1]}, "logistic", None),
        ({"kind": "label", "classes": ["a", "b", "c"]}, "softmax", None),
        ({"kind": "label", "classes": [1, 2, 3.5]}, "softmax", None),
        ({"kind": "label", "classes": ["a", "b", "c"]}, "logistic", "ovr"),
        ({"kind": "label", "classes": ["a", "b", "c"]}, "huber-svm", "ovr"),
        (REAL, "ridge", None),
    ],
)
@pytest.mark.parametrize("schema", [{}, {"row_norm": 1.5}, {"row_norm": 0.7, "intercept": False}])
def test_labels_of_all_sorts_with_rows_scaled_or_not(label, loss, multiclass, schema):
    check(*of_all_kinds(label, loss, multiclass, **schema))


def test_predicted_numbers_are_held_to_their_bounds_to_the_bit(monkeypatch):
    model, frame = of_all_kinds(REAL, "ridge", row_norm=0.7, intercept=False)
    found, said = answers(model, frame)["label"][:, 0], model.predict(frame)
    assert found.tobytes() == said.tobytes()
    assert (said.min(), said.max()) == (100.0, 900.0) and ((said > 100) & (said < 900)).any()
    monkeypatch.setattr(Label, "bounds", (-np.inf, np.inf))  # A graph that holds none.
    assert answers(model, frame)["label"].max() > 900


@pytest.mark.parametrize("broken", ["truncation", "next", "log"])
def test_a_graph_that_leaves_a_rounding_out_is_found(monkeypatch, broken):
    model, frame = of_all_kinds(row_norm=1.5)
    check(model, frame)
    if broken == "truncation":
        monkeypatch.setattr(columns, "on_grid", lambda graph, numbers: numbers)
    elif broken == "next":
        monkeypatch.setattr(arithmetic, "_PHI", 0.0)
    else:
        monkeypatch.setattr(transforms.Log, "TERMS", 2)
    with pytest.raises(AssertionError):
        check(model, frame)


@pytest.mark.parametrize("n", [0, 1])
def test_no_row_and_a_row_alone(n):
    classes = {"kind": "label", "classes": ["a", "b", "c"]}
    model, frame = of_all_kinds(classes, "softmax", row_norm=1.5)
    whole, few = answers(model, frame), answers(model, frame[:n])
    for name in ("margin", "label"):
        np.testing.assert_array_equal(few[name], whole[name][:n])
    # A runtime's exponential need not have the same last digit for a row alone.
    np.testing.assert_allclose(few["probability"], whole["probability"][:n], rtol=1e-12)


def test_the_next_number_is_that_of_ieee_754():
    x = np.random.default_rng(4).random(10**5) * 2.0 ** np.arange(-30, 20).repeat(2000)
    x = np.concatenate([x, np.ldexp(1.0, np.arange(-30, 20)), np.ldexp(2 - 2.0**-52, [-3, 0, 9])])
    assert np.array_equal(x + x * arithmetic._PHI, np.nextafter(x, np.inf))
    assert np.array_equal(x - x * arithmetic._PHI, np.nextafter(x, 0))


def test_a_mean_by_a_log_link_is_that_of_the_model_to_a_rounding():
    columns = {"a": {"kind": "numeric", "lower": 0, "upper": 1}}
    columns["y"] = {"kind": "label", "lower": 0, "upper": 12}
    frame = pd.DataFrame({"a": np.linspace(0, 1, 400)})
    rows = frame.assign(y=np.floor(2 * np.exp(frame["a"])))
    model = fit(rows, schema={"columns": columns}, loss="poisson", epsilon=9.0, seed=1)
    for shift in (0.0, 800.0, -800.0):  # a mean within its bounds, at the upper one and at 0
        moved = dataclasses.replace(model, w=model.w + [0.0, shift])
        found, expected = answers(moved, frame)["label"][:, 0], moved.predict(frame)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert 0 < model.predict(frame).min() < model.predict(frame).max() < 12


def test_a_column_named_as_an_output_keeps_its_name():
    kinds = {"label": NUMBER, "log_odds": NUMBER, "constant.0": NUMBER, "isnan.0": NUMBER}
    model = model_of(kinds)
    frame = pd.DataFrame({name: np.linspace(-4, 8, 50) for name in kinds})
    found = answers(model, frame)
    assert [*found] == ["log_odds_", "probability", "label_"]
    assert np.array_equal(found["log_odds_"][:, 0], model.decision_function(frame))


def test_a_fitted_model_of_truth_values_says_them_in_words_and_has_its_statement():
    import onnx

    X = np.random.default_rng(5).uniform(0, 1, (300, 2))
    model = fit(X, X[:, 0] > 0.5, classes=(False, True), bounds=(0, 1), epsilon=5.0)
    content = graph_bytes(model)
    assert content == graph_bytes(model)
    graph = onnx.load_from_string(content)
    assert graph.doc_string == model.privacy["sentence"]
    properties = {each.key: json.loads(each.value) for each in graph.metadata_props}
    assert properties == {"private": True, "classes": ["False", "True"]}
    frame = pd.DataFrame(X, columns=[column.name for column in model.schema.features])
    said = answers(model, frame)["label"][:, 0]
    assert said.tolist() == [str(label) for label in model.predict(X)]


def test_a_fitted_model_of_curves_between_released_bounds_is_its_graph():
    x = np.random.default_rng(4).random(4000) * 50
    frame = pd.DataFrame({"x": x, "label": np.where(np.abs(x - 25) < 12, "yes", "no")})
    private = {"kind": "numeric", "lower": "private", "upper": "private"}
    schema = Schema.from_dict({"columns": {"x": private, "label": TWO}})
    model = fit(frame, schema=schema, epsilon=5.0, delta=1e-6, seed=3)
    assert model.schema.features[0].knots == 8 and "x" in model.released_bounds
    at = np.concatenate([np.linspace(-10, 60, 997), model.schema.features[0].encoding.bounds])
    check(model, pd.DataFrame({"x": at}))
    (curve,) = curves_of(model)
    assert (curve.knots[0], curve.knots[-1]) == model.released_bounds["x"]
    assert np.allclose(np.diff(curve.knots), np.diff(model.released_bounds["x"]) / 7)
    margins = model.decision_function(pd.DataFrame({"x": curve.knots}))
    assert np.diff(curve.added) == pytest.approx(np.diff(margins), abs=1e-2)
    said = [item.text for item in fitted_section(model).items]
    assert any("made curves of x:" in text for text in said)
    assert any("Bounds released from the rows: x " in text for text in said)


def test_a_kind_without_operators_is_refused():
    with pytest.raises(InvalidInputError, match="'x' is of kind hashed, which.*lists its values"):
        graph_bytes(model_of({"x": {"kind": "hashed", "buckets": 16}}))


def test_columns_without_names_are_refused():
    with pytest.raises(InvalidInputError, match="columns without names.*bounds=.lower, upper."):
        graph_bytes(model_of({}, width=3))


def test_what_is_no_graph_or_cannot_be_made_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="Expected the file 'm.json' as .onnx"):
        exporter_of("m.json")
    assert exporter_of(tmp_path / "m.ONNX").writes == "Graph"
    text = dataclasses.replace(exporter_of("m.onnx"), content=lambda model: "a text")
    with pytest.raises(InvalidInputError, match="returned no bytes"):
        content_of(text, None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match="pip install 'dpcore.onnx.'"):
        exporter_of(tmp_path / "m.onnx")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif("DPCORE_DATA_DIR" not in os.environ, reason="needs the data sets")
@pytest.mark.parametrize("row_norm", [None, 1.0])
def test_labels_of_every_test_row_of_adult(row_norm, tmp_path):
    schema = Schema.from_dict(
        Schema.read("adult").to_dict() | ({"row_norm": row_norm} if row_norm else {})
    )
    names = [column.name for column in schema.columns]
    path = os.path.join(os.environ["DPCORE_DATA_DIR"], "adult.{}")
    files = {"train": path.format("data"), "test": path.format("test")}
    read = {"header": None, "names": names, "skipinitialspace": True, "keep_default_na": False}
    train, test = (
        pd.read_csv(file, **read, skiprows=int(which == "test")) for which, file in files.items()
    )
    model = fit(train, schema=schema, epsilon=1.0, seed=1)
    model.save(tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    rows = test[[column.name for column in schema.features]]
    numbers = [column.name for column in schema.features if column.encoding.reading.takes_numbers]
    rows = rows.astype(dict.fromkeys(numbers, "float64"))
    assert len(rows) == 16281 and len(set(model.predict(rows))) == 2
    check(model, rows.astype({name: object for name in rows if name not in numbers}))


HASHED = {
    "zip": {"kind": "hashed", "buckets": 16, "indicator": True},
    "code": {"kind": "hashed", "buckets": 8, "numbers": True, "fill": 3},
    "plain": {"kind": "hashed", "buckets": 5},
}
LISTED = {"zip": ["3011", "B b", "3011", "", " 03 "], "code": ["1", "2.5", "-0", "1e300"]}
LISTED |= {"plain": ["a", "true", "False"]}


def test_a_hashed_column_has_a_table_of_public_values():
    """Crosses of it too; another value, whose bucket is not known, gives no score."""
    size = {"kind": "categorical", "categories": ["s", "l"]}
    crosses = [{"columns": ["zip", "size"]}]
    model = model_of({**HASHED, "size": size}, crosses=crosses, missing=["", "NA"])
    tabled = with_tables(model, LISTED)
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "zip": pd.Series(rng.choice(["3011", "B b", "03", "", "NA"], N), dtype=object),
            "code": rng.choice([1, 2.5, 0.0, -0.0, 1e300, np.nan], N),
            "plain": pd.Series(rng.choice(["a", "true", "False"], N), dtype=object),
            "size": pd.Series(rng.choice(["s", "l", "x"], N), dtype=object),
        }
    )
    found = answers(tabled, frame)
    assert np.array_equal(found["log_odds"][:, 0], model.decision_function(frame))
    assert found["label"][:, 0].tolist() == model.predict(frame).tolist()
    for column, odd in (("zip", "9999"), ("code", 7.0), ("plain", "TRUE")):
        other = frame.head(3).assign(**{column: [odd] * 3})
        assert np.isnan(answers(tabled, other)["log_odds"]).all()
    assert tabled.schema.feature_names == model.schema.feature_names


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"zap": ["a"]}, "no hashed column 'zap'.*Did you mean zip"),
        ({"code": ["1", "one"]}, "'code' has numbers, and not all"),
        ({"plain": ["True", "false"]}, "than truth values alone"),
        ({"zip": ["", " "]}, "from 1 to 131,072 values of column 'zip', found 0"),
        ({"code": map(str, range(5000))}, "from 1 to 4,096 values of column 'code', found 5,000"),
    ],
)
def test_values_that_are_no_table_are_refused(values, told):
    with pytest.raises(InvalidInputError, match=told) as refused:
        with_tables(model_of(HASHED), values)
    assert "one" not in str(refused.value).split()


def test_values_are_lines_of_a_file(tmp_path):
    (tmp_path / "zips").write_text("3011\n\nB b\n", encoding="utf-8-sig")
    assert values_in(str(tmp_path / "zips")) == ["3011", "", "B b"]
    (tmp_path / "odd").write_bytes(b"\xff\xfe\n")
    for name in ("odd", "none"):
        with pytest.raises(InvalidInputError, match="Cannot read .* as lines of UTF-8"):
            values_in(str(tmp_path / name))
    assert files_in(["a=b=c", "d=e"]) == {"a": "b=c", "d": "e"}
    for texts in (["a"], ["a="], ["=b"], ["a=b", "a=c"]):
        with pytest.raises(InvalidInputError, match="once for each column"):
            files_in(texts)
