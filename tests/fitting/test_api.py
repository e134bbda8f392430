"""``dpcore.fit``: arrays, sparse rows and frames in, the command line's words and statement out."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpcore import Schema, fit, load_model
from dpcore.errors import DataError, DpcoreWarning, InvalidInputError, RegistryError
from dpcore.plugin.parts import PrivacyStatement, load_registry
from dpcore_tables.store import convert

X = np.array([[0.0, 0.5], [0.5, 0.0], [0.25, 0.25], [0.75, 0.5]])
Y = np.array([0, 1, 0, 1])
SCHEMA = {
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 100},
        "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
        "label": {"kind": "label", "classes": ["no", "yes"]},
    }
}


@pytest.fixture(autouse=True)
def stub(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "stub_plugin"))
    load_registry.cache_clear()
    yield
    load_registry.cache_clear()
    sys.modules.pop("dpcore_stub", None)


def test_arrays_and_sparse_rows_fit_alike():
    words = {"algo": "stub", "classes": (0, 1), "epsilon": 0.5, "row_norm": 2.0, "seed": 3}
    dense = fit(X, Y, **words)
    assert np.array_equal(dense.w, fit(sparse.csr_matrix(X), Y, **words).w)
    assert dense.coef.shape == (2,)
    assert dense.classes == (0.0, 1.0)
    assert dense.privacy["private"] is False and dense.privacy["epsilon"] == 0.5
    assert dense.report["algo"] == "stub" and "n_train" not in dense.report
    assert set(dense.predict(X)) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        ((False, True), "b"),
        ((0, 1), "i"),
        ((np.int64(3), np.int64(5)), "i"),
        ((1.5, 2.5), "f"),
        (("no", "yes"), "U"),
        (([0, 7], [1]), "i"),
    ],
)
def test_predictions_are_the_callers_own_classes(tmp_path, classes, kind):
    one = [c[0] if isinstance(c, list) else c for c in classes]
    model = fit(X, np.array([one[i] for i in Y]), algo="stub", classes=classes)
    model.save(tmp_path / "m.json")
    for fitted in (model, load_model(tmp_path / "m.json")):
        labels = fitted.labels(np.array([-1.0, 0.0, 1.0]))
        assert labels.dtype.kind == kind and labels.tolist() == [one[0], one[0], one[1]]
        assert fitted.predict(X).dtype.kind == kind


def test_classes_of_two_types_stay_apart():
    model = replace(fit(X, Y, algo="stub", classes=(0, 1)), class_values=(0, "a"))
    assert model.labels(np.array([-1.0, 1.0])).tolist() == [0, "a"]


def test_a_schema_by_object_path_or_mapping(tmp_path):
    frame = pd.DataFrame({"age": [1, 2], "city": ["Bern", "Zug"], "label": ["no", "yes"]})
    schema = Schema.from_dict(SCHEMA)
    path = tmp_path / "schema.toml"
    path.write_text(schema.to_toml())
    for given in (SCHEMA, schema, path, str(path)):
        assert fit(frame, algo="stub", schema=given).schema == schema
    with pytest.raises(InvalidInputError, match="a Schema, a mapping, a path or a name"):
        fit(frame, algo="stub", schema=3)
    with pytest.raises(InvalidInputError, match="none.toml"):
        fit(frame, algo="stub", schema=tmp_path / "none.toml")


def test_a_seed_of_any_whole_type():
    first, second = (fit(X, Y, algo="stub", classes=(0, 1), seed=s) for s in (3, np.int64(3)))
    assert np.array_equal(first.w, second.w)


def test_pure_privacy_has_no_delta():
    words = {"algo": "dp-agd", "use": {"gradient": "laplace"}, "params": {"steps": 3}}
    model = fit(X, Y, classes=(0, 1), accountant="pure", epsilon=5.0, **words)
    assert model.privacy["delta"] == 0.0
    assert model.privacy["sentence"].startswith("This model is (5, 0)-differentially private")
    assert (
        "any outcome by a factor of at most e^5 = 149. Sums are exact" in model.privacy["sentence"]
    )


def test_the_statement_tells_a_number_of_rows_taken_as_public():
    words = {"algo": "stub", "classes": (0, 1), "n0": 4}
    told = "n0 = 4, used as the number of rows, counts as public."
    assert f" {told}" in fit(X, Y, **words).privacy["sentence"]
    assert told not in fit(X, Y, relation="replace-one", **words).privacy["sentence"]


def test_a_frame_needs_its_schema():
    frame = pd.DataFrame({"age": [1, 2], "city": ["Bern", "Zug"], "label": ["no", "yes"]})
    model = fit(frame, algo="stub", schema=SCHEMA)
    assert model.feature_names == ("age", "city=Bern", "city=Basel")
    assert set(model.predict(frame.drop(columns="label"))) <= {"no", "yes"}
    with pytest.raises(InvalidInputError, match="needs a schema"):
        fit(frame, algo="stub")


def test_the_statement_names_column_types_that_another_program_chose(tmp_path):
    frame = pd.DataFrame({"age": [1, 2], "city": ["Bern", "Zug"], "label": ["no", "yes"]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    frame.to_parquet(tmp_path / "f.parquet")
    schema = Schema.from_dict(SCHEMA)
    for name in ("csv", "parquet"):
        convert(tmp_path / f"f.{name}", tmp_path / f"{name}.dpcore", schema)

    def sentence(X, schema=schema):
        return fit(X, algo="stub", schema=schema).privacy["sentence"]

    told = "of a row, given the {}'s column types, as enforced"
    assert told.format("frame") in sentence(frame)
    assert told.format("file") in sentence(tmp_path / "f.parquet")
    assert told.format("file") in sentence(tmp_path / "parquet.dpcore", None)
    for untyped in (sentence(tmp_path / "f.csv"), sentence(tmp_path / "csv.dpcore", None)):
        assert "column types" not in untyped


def test_save_and_load(tmp_path):
    model = fit(X, Y, algo="stub", classes=(0, 1), relation="replace-one")
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.privacy == model.privacy
    assert model.report["n_train"] == 4 and loaded.report == {}


def test_statement_of_the_run():
    privacy = fit(X, Y, algo="stub", classes=(0, 1), params={"counts": 3}).privacy
    assert privacy["private"] is True
    assert privacy["releases"] == {"count": 3}
    assert privacy["parts_not_from_dpcore"] == ["dpcore_stub:RowCount"]
    assert privacy["sentence"].startswith("This model is (1, 1e-08)-differentially private under")
    ledger = fit(X, Y, algo="stub", classes=(0, 1)).ledger
    assert [(e["kind"], e["mechanism"], e["count"]) for e in ledger] == [("count", "Gaussian", 2)]


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ({"algo": "stubb"}, RegistryError, "Did you mean stub"),
        ({"epsilon": 0.0}, InvalidInputError, "epsilon"),
        ({"epsilon": True}, InvalidInputError, "epsilon"),
        ({"delta": 1.0}, InvalidInputError, "delta"),
        ({"delta": -1}, InvalidInputError, "Expected delta=-1 >= 0"),
        ({"params": {"counts": 2.5}}, InvalidInputError, "a whole number"),
        ({"params": {"counts": True}}, InvalidInputError, "a whole number"),
        ({"params": {"nope": 1}}, InvalidInputError, "no parameter"),
        ({"params": {"noise": float("nan")}}, InvalidInputError, "a finite number"),
        ({"use": {"count": "none"}}, InvalidInputError, "cannot hold"),
        ({"seed": 1.5}, InvalidInputError, "seed"),
        ({"l2": -1.0}, InvalidInputError, "l2"),
        ({"seed": True}, InvalidInputError, "seed"),
        ({"as_published": True, "params": {"counts": 3}}, InvalidInputError, "without --set"),
        ({"as_published": True, "use": {"count": "laplace"}}, InvalidInputError, "without --use"),
        ({"as_published": True, "preset": "paper"}, InvalidInputError, "without --preset"),
        ({"loss": "ridge"}, InvalidInputError, "two classes"),
        ({"classes": (5, 6)}, DataError, "class"),
    ],
)
def test_mistakes_are_named(words, error, text):
    with pytest.raises(error, match=text):
        fit(X, Y, **{"algo": "stub", "classes": (0, 1), **words})


def test_nothing_is_spent_on_too_few_rows():
    with pytest.raises(InvalidInputError, match="at least 2 rows"):
        fit(X[:1], Y[:1], algo="stub", classes=(0, 1), relation="replace-one")
    assert fit(X[:0], Y[:0], algo="stub", classes=(0, 1)).privacy["private"] is True


def test_classes_are_not_read_off_the_labels():
    model = fit(X, np.ones(4), algo="stub", classes=(0, 1))
    assert model.classes == (0.0, 1.0)


def test_files_and_stores_are_fitted_by_their_path(tmp_path):
    from dpcore_tables.store import convert

    schema = {
        "columns": {
            "x": {"kind": "numeric", "lower": 0, "upper": 1},
            "y": {"kind": "label", "classes": ["no", "yes"]},
        }
    }
    rows, store = tmp_path / "rows.csv", tmp_path / "rows.dpcore"
    rows.write_text("x,y\n" + "".join(f"{i / 40},{'yes' if i > 20 else 'no'}\n" for i in range(40)))
    convert(rows, store, Schema.from_dict(schema))
    models = [fit(rows, schema=schema, seed=1), fit(str(store), seed=1), fit(store, seed=1)]
    for model in models:
        assert model.coef.tobytes() == models[0].coef.tobytes()
        assert model.predict(store).tolist() == models[0].predict(rows).tolist()
    with pytest.raises(InvalidInputError, match="n0 to be left to the schema"):
        fit(store, n0=40)
    with pytest.raises(InvalidInputError, match="needs a schema"):
        fit(rows)


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        ({"delta": 0.1}, "delta = 0.1 is large: with that probability a row may be disclosed"),
        ({"epsilon": 20.0}, "epsilon = 20 is a factor of e^20: next to no protection"),
    ],
)
def test_what_the_command_line_prints_fit_warns_of(budget, text):
    with pytest.warns(DpcoreWarning, match=re.escape(text)) as warned:
        model = fit(X, Y, algo="stub", classes=(0, 1), **budget)
    assert warned[0].filename == __file__
    assert [str(warning.message) for warning in warned] == model.warnings()
    with pytest.warns(FutureWarning, match="^cautions is warnings now; ") as told:
        assert model.cautions(was_warned=True) == model.warnings()
    with pytest.warns(FutureWarning, match="^cautions_of is guarantee_warnings now; "):
        assert PrivacyStatement.cautions_of(20.0, 0.1)[:1] != []
    assert told[0].filename == __file__


def test_truth_values_of_a_frame_are_predicted_as_such(tmp_path):
    """They came back as text, so that no prediction was right, and each of them was true."""
    hired = np.array([True, False] * 4)
    frame = pd.DataFrame({"age": [90.0, 10.0] * 4, "city": "Bern", "label": hired})
    columns = SCHEMA["columns"] | {"label": {"kind": "label", "classes": [False, True]}}
    model = fit(frame, algo="stub", schema={"columns": columns})
    model.save(tmp_path / "m.json")
    for fitted in (model, load_model(tmp_path / "m.json")):
        assert fitted.classes == (False, True) and fitted.predict(frame).dtype == bool
    texts = frame.assign(label=frame["label"].map({True: "true", False: "false"}))
    assert fit(texts, algo="stub", schema={"columns": columns}).classes == ("false", "true")


def test_what_arrays_leave_out_is_said():
    with pytest.raises(DataError, match="row 1: the label is not one") as caught:
        fit(X, Y, algo="stub")
    assert "classes=(negative, positive)" in " ".join(caught.value.__notes__)
    with pytest.raises(InvalidInputError, match="needs target_bounds"):
        fit(X, Y, loss="ridge")
    with pytest.raises(InvalidInputError, match="negative, positive"):
        fit(X, Y, classes={0, 1})
    for words in ({"X": np.ma.masked_equal(X, 0.5), "y": Y}, {"X": X, "y": np.ma.array(Y)}):
        with pytest.raises(DataError, match="is a masked array"):
            fit(**words, classes=(0, 1), algo="stub")
