"""No error is raised, and nothing called, where a library's error that may quote a row is handled.

What is raised there has the library's error as its ``__context__``: ``dpcore.errors.replacing``
raises in its place, and ``contextlib.suppress`` goes on behind the block.
"""

import ast

import pytest
from statements import statements_of
from test_house_rules import ROOT, SOURCES, relative

from dpcore import errors

OURS = {name for name in errors.__all__ if name.endswith("Error")} | {"UnreadTypeError"}
NO_CELL = {
    *("OSError", "FileNotFoundError", "FileExistsError", "BlockingIOError"),
    *("BrokenProcessPool", "KeyboardInterrupt", "ImportError"),
}
"""Errors whose text has the name of a file, a module or nothing."""
MADE = ("checks", "made_tables", "outcomes", "recount", "replay")
"""Folders of dpcore-lab whose rows are made by the checks."""
NO_ROWS = {
    "plugins/lab/dpcore_lab/commands/check.py": "imports a part by its name, builds it by defaults",
    "dpcore/fitting/planning/losses.py": "builds a loss by its public parameters",
    "dpcore/fitting/planning/plan.py": "builds an optimizer by its public parameters",
    "dpcore/registry/catalogue.py": "looks a name up, and imports its part",
    "dpcore/session/dry_run.py": "asks a question of no rows",
    **{relative(path): "of made rows" for path in SOURCES if path.parent.name in MADE},
}
"""Files whose handlers see no row of a user's: their authors need the cause."""
STRICT = (
    "dpcore/data/",
    "plugins/sklearn/dpcore_sklearn/rows.py",
    "plugins/dask/dpcore_dask/partition.py",
)
"""Where rows are read: no handler raises anything new, or calls what might."""


def handlers(tree):
    """Yield each handler with the names of what it catches, and what it raises and calls."""
    for node in statements_of(tree):
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {ast.unparse(kind).rpartition(".")[2] for kind in kinds if kind is not None}
            within = [part for statement in node.body for part in ast.walk(statement)]
            raised = [part for part in within if isinstance(part, ast.Raise) and part.exc]
            called = [part for part in within if isinstance(part, ast.Call)]
            yield names or {"all"}, raised, called


def faults(tree, strict=False):
    """Yield what is raised, or called where rows are read, while another error is handled."""
    for names, raised, called in handlers(tree):
        if strict:
            yield from (f"{part.lineno}: {ast.unparse(part)}" for part in (*raised, *called))
        elif not names <= OURS | NO_CELL:
            yield from (f"{part.lineno}: {ast.unparse(part)}" for part in raised)


def test_nothing_is_raised_where_a_library_s_error_is_handled():
    found = [
        f"{name}:{fault}"
        for name in map(relative, SOURCES)
        if name not in NO_ROWS
        for fault in faults(ast.parse((ROOT / name).read_text()), name.startswith(STRICT))
    ]
    assert found == []


def test_files_that_are_let_be_raise_there():
    """None is named that need not be, but for those of made rows, which are named by the room."""
    idle = [
        name
        for name, reason in NO_ROWS.items()
        if reason != "of made rows" and not [*faults(ast.parse((ROOT / name).read_text()))]
    ]
    assert idle == []


@pytest.mark.parametrize(
    ("handler", "strict"),
    [
        ("except pa.ArrowInvalid:\n    raise DataError('') from None", False),
        ("except (OSError, ValueError) as error:\n    raise DataError('') from error", False),
        ("except:\n    raise DataError('')", False),
        ("except Exception:\n    if x:\n        raise DataError('')", False),
        ("except pa.ArrowInvalid:\n    table = parse_as_text()", True),
        ("except DataError:\n    raise DataError('')", True),
    ],
)
def test_a_raise_in_a_handler_is_found(handler, strict):
    assert [*faults(ast.parse(f"try:\n    pass\n{handler}"), strict)]


@pytest.mark.parametrize(
    "handler",
    [
        "except ValueError:\n    raise",
        "except OSError as error:\n    raise DataError(error.strerror) from error",
        "except DataError:\n    raise InvalidInputError('')",
        "except ValueError:\n    text = words()",
    ],
)
def test_other_handlers_are_none(handler):
    assert not [*faults(ast.parse(f"try:\n    pass\n{handler}"))]
