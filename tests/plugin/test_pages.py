"""The pages of names that plugin authors import, which dpcore's own plugins keep to."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from statements import statements_of

import dpcore.plugin
from dpcore.plugin import Problem, columns, commands, engines, ledgers, parts, readers, steps

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(ROOT.glob("plugins/*/dpcore_*/**/*.py"))
PUBLIC = (dpcore.plugin, columns, commands, parts, engines, ledgers, readers, steps)
PAGES = (*(page.__name__.removeprefix("dpcore.") for page in PUBLIC), "testing")


@pytest.mark.parametrize("page", PUBLIC, ids=lambda page: page.__name__)
def test_every_name_of_a_page_is_there_and_documented(page):
    for name in page.__all__:
        named = getattr(page, name)
        assert named.__doc__ or not isinstance(named, type), name
    assert {*page.__all__} <= {*dir(page)}  # as help and completion list them


def test_the_first_page_hands_out_its_names():
    assert dpcore.plugin.Problem is Problem
    with pytest.raises(AttributeError, match="no attribute 'Problm'"):
        dpcore.plugin.Problm  # noqa: B018


def test_hooks_are_read_without_a_kernel():
    code = "import sys; from dpcore.plugin import hookimpl; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


NAMES = 150
"""Names of the pages for plugin authors, in all. They may only become fewer."""
THIRD_PARTIES = [*ROOT.glob("tests/third_party/*/**/*.py"), *ROOT.glob("tests/stub_plugin/*.py")]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("plugins/*/*.md")]


@functools.cache
def names_imported(text):
    """Return the modules that a file imports names from, each with a name."""
    return [
        (str(node.module), each.name)
        for node in statements_of(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    ]


def names_from_pages(text):
    """Return the pages' names that a file imports, each with its page."""
    return {each for each in names_imported(text) if each[0].startswith("dpcore.plugin")}


def python_of(document):
    """Return the imports of a document's Python, a line each."""
    blocks = re.findall(r"^```python\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    whole = re.findall(r"^from dpcore\.plugin\S* import (?:\([^)]*\)|.*)", "\n".join(blocks), re.M)
    return "\n".join(whole)


def test_the_pages_have_so_many_names_each_once_and_with_a_user():
    named = {(page.__name__, name) for page in PUBLIC for name in page.__all__}
    files = [path.read_text() for path in (*PLUGINS, *THIRD_PARTIES)]
    files += [python_of(path.read_text()) for path in DOCUMENTS]
    used = set().union(*map(names_from_pages, files))
    assert named - used == set()
    assert len(named) == len({name for page, name in named}) == NAMES


def deep_imports(text):
    """Yield the names of the core that a file imports, of no page."""
    allowed = {"dpcore", "dpcore.errors", *(f"dpcore.{page}" for page in PAGES)}
    for module, name in names_imported(text):
        if module.split(".")[0] == "dpcore" and module not in allowed:
            yield f"{module}.{name}"


def test_plugins_of_ours_import_from_the_pages():
    found = {path: [*deep_imports(path.read_text())] for path in PLUGINS}
    assert {path: names for path, names in found.items() if names} == {}


def test_an_import_of_no_page_is_found():
    lines = "from dpcore import fit\nfrom dpcore.plugin import Noise\nfrom dpcore.model import file"
    assert [*deep_imports(lines)] == ["dpcore.model.file"]
