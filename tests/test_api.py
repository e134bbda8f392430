"""``dpcore.fit``: arrays, sparse rows and frames in, the command line's words and statement out."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpcore import fit, load_model
from dpcore.errors import DataError, InvalidInputError, RegistryError
from dpcore.registry import load_registry

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
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "stub_plugin"))
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


def test_a_frame_needs_its_schema():
    frame = pd.DataFrame({"age": [1, 2], "city": ["Bern", "Zug"], "label": ["no", "yes"]})
    model = fit(frame, algo="stub", schema=SCHEMA)
    assert model.feature_names == ("age", "city=Bern", "city=Basel")
    assert set(model.predict(frame.drop(columns="label"))) <= {"no", "yes"}
    with pytest.raises(InvalidInputError, match="needs a schema"):
        fit(frame, algo="stub")


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
        ({"params": {"counts": 2.5}}, InvalidInputError, "a whole number"),
        ({"params": {"counts": True}}, InvalidInputError, "a whole number"),
        ({"params": {"nope": 1}}, InvalidInputError, "no parameter"),
        ({"params": {"noise": float("nan")}}, InvalidInputError, "a finite number"),
        ({"use": {"count": "none"}}, InvalidInputError, "cannot hold"),
        ({"seed": 1.5}, InvalidInputError, "seed"),
        ({"l2": -1.0}, InvalidInputError, "l2"),
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
