"""Steps of a package of ours that is not installed: what to install is said in one line."""

import pytest

import dpcore
from dpcore import fit
from dpcore.errors import RegistryError
from dpcore.plugin.parts import load_registry

WHERE = r"It is in dpcore-report: pip install \. plugins/\* in a checkout of dpcore, or its wheel\."


@pytest.fixture
def not_here(monkeypatch):
    whole = load_registry("step")
    rest = [e for e in whole.entries("step") if e.distribution != "dpcore-report"]
    name = "dpcore.fitting.request.old_words.load_registry"
    monkeypatch.setattr(name, lambda kind=None: type(whole)(rest))


@pytest.mark.parametrize("name", ["Evaluation", "Intervals"])
def test_a_name_of_it_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=rf"^dpcore.{name} is in .*, of dpcore-report: pip install "
    ):
        getattr(dpcore, name)


@pytest.mark.parametrize("old", [{"evaluate_share": 0.2}, {"intervals_share": 0.2}])
def test_an_earlier_keyword_says_so_too(old, not_here):
    with pytest.raises(RegistryError, match=WHERE):
        fit([[0.0], [1.0]], [0, 1], classes=(0, 1), bounds=(0, 1), **old)
