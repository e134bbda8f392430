"""scikit-learn is an extra: the core does not import it, and its absence is told in one line."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import dpcore

CORE = Path(dpcore.__file__).parent
IMPORTS = re.compile(r"^\s*(?:from|import) (?:dpcore_)?sklearn\b", re.MULTILINE)


def test_the_core_does_not_import_it():
    files = [*CORE.rglob("*.py")]
    assert len(files) > 100
    assert [path for path in files if IMPORTS.search(path.read_text())] == []
    assert IMPORTS.search("if x:\n    from dpcore_sklearn.base import y")


def test_where_there_is_none_or_an_old_one_a_line_says_what_to_install(monkeypatch):
    import sklearn.utils.validation as needed

    for name in [name for name in sys.modules if name.startswith("dpcore_sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    message = r"^dpcore_sklearn needs scikit-learn .* pip install 'dpcore\[sklearn\]'$"
    with monkeypatch.context() as old:
        old.delattr(needed, "validate_data")
        with pytest.raises(ImportError, match=message):
            importlib.import_module("dpcore_sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.utils.validation", None)
    with pytest.raises(ImportError, match=message):
        importlib.import_module("dpcore_sklearn")


def test_estimators_of_another_version_are_not_loaded(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("dpcore_sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    told = {"dpcore-sklearn": "0.2.0", "dpcore": "0.1.0"}
    monkeypatch.setattr("importlib.metadata.version", told.__getitem__)
    message = "^dpcore-sklearn 0.2.0 is not of the version of dpcore, 0.1.0: install both"
    with pytest.raises(ImportError, match=message):
        importlib.import_module("dpcore_sklearn")
