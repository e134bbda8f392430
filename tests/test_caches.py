"""Nothing that is handed out fills in a member later, and what a process keeps is kept by public
facts: a cache that code on rows filled would tell of them in equal releases."""

import ast
import re

import pytest
from statements import statements_of
from test_house_rules import faults_by_file

# Called by the constructors of their classes alone, or on a copy that was just made.
BUILDERS = {"__init__", "__post_init__", "_take_grids", "take_plain", "_with_sum"}
SEALS = {"_set"}  # which refuses what is fixed, and is what assignment means otherwise


def filled_later(tree):
    """Yield members that are worked out when they are first asked for, or set past a frozen class's
    own refusal after its objects are built."""
    for node in ast.walk(tree):
        if "cached_property" in (getattr(node, "id", None), getattr(node, "attr", None)):
            yield f"{node.lineno}: cached_property"
        if isinstance(node, ast.FunctionDef) and node.name not in BUILDERS | SEALS:
            calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
            for called in (each for each in calls if isinstance(each, ast.Attribute)):
                # Looked at first, since to write the text of every call takes seconds.
                if called.attr == "__setattr__" and ast.unparse(called.value) == "object":
                    yield f"{called.lineno}: {node.name} sets a member"


@pytest.mark.slow
def test_nothing_fills_in_a_member_later():
    assert faults_by_file(filled_later) == []


@pytest.mark.parametrize(
    "source",
    [
        "class S:\n    @functools.cached_property\n    def empty(self): ...",
        "from functools import cached_property\n@cached_property\ndef f(self): ...",
        "class S:\n    def empty(self):\n        object.__setattr__(self, '_empty', 1)",
    ],
)
def test_a_member_that_is_filled_in_later_is_found(source):
    # The schema's notation was of the first kind: its dictionary told whether a cell was empty.
    assert list(filled_later(ast.parse(source)))


PUBLIC = re.compile(
    r"(int|float|str|bool|bytes|None|Any|Fraction|type|tuple|Callable|Rounds?|GridScale|Sensitivity"
    r"|RandomizedSensitivityGaussian|TruncatedNegativeBinomial|\w*DpEvent|\W)*"
)
"""What the arguments of a function with a cache may be: numbers, names, costs. They are known
before the rows are asked, or follow from what was released."""
MADE_UP = {"rows"}  # of an audit: tables that it makes itself


def caches(tree):
    """Yield each function that keeps its results for as long as the process is there. One within a
    function ends with the call."""
    outer = [*tree.body, *(n for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body)]
    for node in (each for each in outer if isinstance(each, ast.FunctionDef)):
        names = (ast.unparse(getattr(d, "func", d)) for d in node.decorator_list)
        if any(name.split(".")[-1] in ("cache", "lru_cache", "cached_by_value") for name in names):
            yield node


def caches_of_rows(tree):
    """Yield functions with a cache whose arguments may be rows, or hold some."""
    for function in caches(tree):
        given = [*function.args.args, *function.args.kwonlyargs]
        known = all(
            each.annotation is not None and PUBLIC.fullmatch(ast.unparse(each.annotation))
            for each in given
        )
        if function.name not in MADE_UP and not known:
            yield f"{function.lineno}: {function.name}"


def test_what_is_cached_is_of_public_facts():
    assert faults_by_file(caches_of_rows) == []
    assert len(faults_by_file(caches)) > 40


@pytest.mark.parametrize(
    "source",
    [
        "@functools.cache\ndef f(cells: Cells): ...",
        "@lru_cache(maxsize=4)\ndef f(rows: np.ndarray, n: int): ...",
        "@cache\ndef f(schema): ...",
        "class T:\n    @functools.lru_cache\n    def sums(self, name: str): ...",
    ],
)
def test_a_cache_of_rows_is_found(source):
    assert list(caches_of_rows(ast.parse(source)))


KEPT = {
    "dpcore/privacy/immutable.py": "classes as they were defined",
    "dpcore/fitting/fits.py": "the sums of the budgets of the process's fits",
    "dpcore/exact/compiled.py": "whether it was said that no kernel can be kept on disk",
    "dpcore/exact/plain.py": "names of what others had registered when kernels were compiled",
    "dpcore/session/one_process.py": "sessions, weakly, which a forked child may not use",
    "dpcore/row_functions/row_function.py": "compiled loops of functions of a row, by their texts",
    "dpcore/data/blocks/frozen.py": "arrays that cannot change, weakly: they go with their rows",
    "plugins/frank-wolfe/dpcore_frank_wolfe/row_state.py": "margins, weakly: with their table",
    "plugins/tukey/dpcore_tukey/kendall_scores.py": "correlations, weakly: with their table",
    "plugins/baselines/dpcore_baselines/losses/row_loss.py": "parameters of losses, with them",
    "plugins/lab/dpcore_lab/compare/workers.py": "a comparison's rows, in a process of its own",
    "plugins/lab/dpcore_lab/replay/canonical.py": "classes that a check met, by name",
    "plugins/lab/dpcore_lab/audit/processes.py": "tables that an audit makes itself",
    "dpcore/registry/installed.py": "names and versions of distributions, weakly",
    "plugins/dask/dpcore_dask/stores.py": "schemas of partitions, weakly, in a worker's process",
}
"""Modules that functions put things into, and what."""
EMPTY = re.compile(
    r"\{\}|\[\]|(\w+\.)?(dict|list|set|deque|Counter|defaultdict|local|Weak\w+|Fits)\(.*\)"
)


def empty_at_first(tree):
    """Yield names of a module that are empty until functions put something into them."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            if EMPTY.fullmatch(ast.unparse(node.value)) and ast.unparse(names[0]) != "__all__":
                yield from map(ast.unparse, names)
    for node in (each for each in statements_of(tree) if isinstance(each, ast.Global)):
        yield from node.names


def test_what_modules_keep_is_known():
    found = {fault.split(": ")[0] for fault in faults_by_file(empty_at_first)}
    assert found == {*KEPT}


@pytest.mark.parametrize(
    "source",
    ["_SEEN: set[str] = set()", "_CELLS = {}", "def f():\n    global _last"],
)
def test_what_a_module_would_keep_is_found(source):
    assert list(empty_at_first(ast.parse(source)))
