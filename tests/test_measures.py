"""Measures of the code's size, each with a ceiling that only falls."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest
from statements import statements_of

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "dpcore").rglob("*.py"))
PLUGINS = sorted(path for p in ROOT.glob("plugins/*/dpcore_*") for path in p.rglob("*.py"))

LONG = 40
"""Lines of the body of a function, blank ones too. Its signature and docstring, which tell of each
parameter, are not in them."""
MOST_LONG_FUNCTIONS = 0
"""Functions of the core and the plugins with more lines. Whoever makes it less states that here."""
MOST_STATEMENTS = 15_000
"""Statements of the core. Whoever ends a piece of work with fewer rounds them up to the next
hundred and states that here; what needs more has to take as many out."""


MOST_FILES = 20
"""Files of code beside each other in a folder."""
FULLER_FOLDERS: dict[str, int] = {}
"""Folders with more, each with its files. They may only become less."""
MOST_LINES_WITH_A_PLUGIN = 1
"""Lines of the core that name a package of this repository, or an algorithm: the word "auto" as the
value of a parameter. The table ``moved.toml`` and the manifest in its wheel are generated."""
_PACKAGES = "|".join(path.parent.name.replace("-", "[-_]") for path in ROOT.glob("plugins/*/tests"))
A_PLUGIN = re.compile(
    rf"dpcore[-_]({_PACKAGES})\b|[\"`](auto|a-ddp|dp-agd|dp-gd|gram-ridge|rsgd-ar|sgd-ma)[\"`]"
)


@functools.cache
def trees():
    return {path: ast.parse(path.read_text()) for path in (*CORE, *PLUGINS)}


@pytest.fixture(scope="module", autouse=True)
def _trees_are_dropped():
    yield
    trees.cache_clear()


def long_functions(tree):
    """Yield the functions and methods that are too long, with their lines."""
    for node in statements_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[ast.get_docstring(node) is not None and len(node.body) > 1]
            if (lines := node.end_lineno - first.lineno + 1) > LONG:
                yield node.name, lines


def statements(tree):
    return sum(isinstance(node, ast.stmt) for node in statements_of(tree))


def test_long_functions_do_not_become_more():
    found = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path, tree in trees().items()
        for name, lines in long_functions(tree)
    ]
    assert len(found) <= MOST_LONG_FUNCTIONS, "\n".join(found)


def test_the_core_does_not_grow():
    assert sum(statements(trees()[path]) for path in CORE) <= MOST_STATEMENTS


def test_folders_do_not_become_fuller():
    found = Counter(str(path.parent.relative_to(ROOT)) for path in (*CORE, *PLUGINS))
    assert {folder: n for folder, n in found.items() if n > MOST_FILES} == FULLER_FOLDERS


def lines_with_a_plugin(text):
    return [line for line in text.splitlines() if A_PLUGIN.search(line)]


def test_the_core_names_no_more_plugins():
    found = [line for path in CORE for line in lines_with_a_plugin(path.read_text())]
    assert len(found) == MOST_LINES_WITH_A_PLUGIN, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from dpcore_lab.checks import check_loss", 1),
        ('"dpcore-dp-agd": x', 1),
        ('algo = "auto"', 1),
        ("from dpcore.plugin import Problem", 0),
        ("dpcore_labs", 0),
    ],
)
def test_a_line_with_a_plugin_is_found(line, found):
    assert len(lines_with_a_plugin(line)) == found


@pytest.mark.parametrize(("body", "found"), [(39, []), (40, []), (41, [("f", 41)])])
def test_a_long_function_is_found(body, found):
    text = "@cached\ndef f(\n    x,\n):\n    'Return x.'\n" + "    x += 1\n" * body
    assert [*long_functions(ast.parse(text))] == found


def test_statements_within_others_are_counted():
    assert statements(ast.parse("def f(x):\n    'Return x.'\n    if x:\n        return x")) == 4
