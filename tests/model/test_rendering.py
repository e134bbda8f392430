"""A model's text, its HTML and its pickle."""

import pickle
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpcore import fit, load_model
from dpcore.plugin.parts import load_registry
from dpcore.plugin.steps import Section

FILES = Path(__file__).parents[1] / "golden" / "models" / "files"
COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 1},
    "<b>pay": {"kind": "numeric", "lower": 0, "upper": 1},
    "y": {"kind": "label", "classes": ["no", "y<s"]},
}


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).uniform(size=(311, 2))
    y = np.where(X[:, 0] > 0.5, "y<s", "no")
    return fit(X, y, schema={"columns": COLUMNS}, relation="replace-one", epsilon=1.0)


def test_a_section_whose_package_is_not_installed_says_so(model, tmp_path, monkeypatch):
    section = {"version": 1, "lines": ["About 3 rows."], "data": {"yes": 3.0}}
    parts = {"there": "class_counts.step:Here", "gone": "no_such_package.step:Gone"}
    sections = {name: {**section, "part": part} for name, part in parts.items()}
    monkeypatch.setitem(sys.modules, "class_counts", types.ModuleType("class_counts"))
    replace(model, sections=sections).save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.sections == sections and Section.of(again, "gone").data == {"yes": 3.0}
    assert again.sections_in_words() == [
        "there: About 3 rows.",
        "gone: About 3 rows.",
        "gone: The step's package, no_such_package, is not installed here; its section is kept.",
    ]


@pytest.mark.parametrize("name", ["evaluated-classes", "intervals", "clipped-errors"])
def test_a_section_of_a_step_that_is_not_installed_is_kept(name, tmp_path, monkeypatch):
    whole = load_registry("step")
    rest = [e for e in whole.entries("step") if e.distribution != "dpcore-report"]
    name_of = "dpcore.registry.catalogue.load_registry"
    monkeypatch.setattr(name_of, lambda kind=None: type(whole)(rest))
    model = load_model(FILES / f"{name}.json")
    step = "intervals" if name == "intervals" else "evaluation"
    assert model.sections_in_words() == [
        f"{step}: kept, and not shown. There is no step {step!r}. It is in dpcore-report: pip "
        "install . plugins/* in a checkout of dpcore, or its wheel."
    ]
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert (again.evaluation, again.intervals) == (model.evaluation, model.intervals)


def test_its_text_is_three_lines(model):
    what, claim, rows = repr(model).splitlines()
    assert what == (
        f"Model: 'no' or 'y<s' by logistic loss, 2 features and an intercept, fitted by "
        f"{model.algo['name']}"
    )
    assert claim.startswith("This model is (1, 1e-08)-differentially private under replace-one")
    assert claim.endswith("conversion).")
    assert rows == "It takes rows of 2 columns: age, <b>pay."


def test_a_model_that_is_not_private_says_so_in_its_text():
    X = np.zeros((9, 20))
    model = fit(
        X, np.ones(9), loss="ridge", bounds=(0, 1), row_norm=None, target_bounds=(0, 5), seed=1
    )
    what, claim, rows = repr(model).splitlines()
    assert what.startswith("Model: a number from 0 to 5 by ridge loss, 20 features")
    assert claim.startswith("NOT PRIVATE: the noise came from a seed")
    assert rows.endswith("20 columns: x1, x2, x3, x4, x5, x6, x7, x8, and 12 more.")


def test_names_are_escaped_in_html(model):
    text = model._repr_html_()
    assert "<b>" not in text and "&lt;b&gt;pay" in text and "y<s" not in text
    assert "In words: replacing any one row" in text
    assert f"{model.coef[0]:.6g}" in text


def test_a_pickle_has_all_but_the_report(model):
    assert model.report["n_train"] == 311
    copy = pickle.loads(pickle.dumps(model))
    assert copy.report == {}
    assert np.array_equal(copy.w, model.w) and copy.privacy == model.privacy
    assert repr(copy) == repr(model)
