"""scikit-learn is an extra: nothing else imports it, and its absence is told in one line."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import dpcore

ROOM = Path(dpcore.__file__).parent


IMPORTS = re.compile(r"^\s*(?:from|import) (?:dpcore\.)?sklearn\b", re.MULTILINE)


def test_only_the_room_imports_it():
    users = {
        path.relative_to(ROOM).parts[0]
        for path in ROOM.rglob("*.py")
        if IMPORTS.search(path.read_text())
    }
    assert users == {"sklearn"}
    assert IMPORTS.search("if x:\n    from dpcore.sklearn.base import y")


def test_where_there_is_none_or_an_old_one_a_line_says_what_to_install(monkeypatch):
    import sklearn.utils.validation as needed

    for name in [name for name in sys.modules if name.startswith("dpcore.sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    message = r"^dpcore.sklearn needs scikit-learn .* pip install 'dpcore\[sklearn\]'$"
    with monkeypatch.context() as old:
        old.delattr(needed, "validate_data")
        with pytest.raises(ImportError, match=message):
            importlib.import_module("dpcore.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.utils.validation", None)
    with pytest.raises(ImportError, match=message):
        importlib.import_module("dpcore.sklearn")
