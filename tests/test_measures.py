"""Measures of the code's size, each with a ceiling that only falls."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "dpcore").rglob("*.py"))
PLUGINS = sorted(path for p in ROOT.glob("plugins/*/dpcore_*") for path in p.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in (*CORE, *PLUGINS)}

LONG = 40
"""Lines of the body of a function, blank ones too. Its signature and docstring, which tell of each
parameter, are not in them."""
MOST_LONG_FUNCTIONS = 0
"""Functions of the core and the plugins with more lines. Whoever makes it less states that here."""
MOST_STATEMENTS = 26_900
"""Statements of the core. Whoever ends a piece of work with fewer rounds them up to the next
hundred and states that here; what needs more has to take as many out."""


def long_functions(tree):
    """Yield the functions and methods that are too long, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[ast.get_docstring(node) is not None and len(node.body) > 1]
            if (lines := node.end_lineno - first.lineno + 1) > LONG:
                yield node.name, lines


def statements(tree):
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def test_long_functions_do_not_become_more():
    found = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path, tree in TREES.items()
        for name, lines in long_functions(tree)
    ]
    assert len(found) <= MOST_LONG_FUNCTIONS, "\n".join(found)


def test_the_core_does_not_grow():
    assert sum(statements(TREES[path]) for path in CORE) <= MOST_STATEMENTS


@pytest.mark.parametrize(("body", "found"), [(39, []), (40, []), (41, [("f", 41)])])
def test_a_long_function_is_found(body, found):
    text = "@cached\ndef f(\n    x,\n):\n    'Return x.'\n" + "    x += 1\n" * body
    assert [*long_functions(ast.parse(text))] == found


def test_statements_within_others_are_counted():
    assert statements(ast.parse("def f(x):\n    'Return x.'\n    if x:\n        return x")) == 4
