"""Tests reach the project by its public pages, so that what moves inside it breaks none of them."""

import ast
import re
from pathlib import Path

import pytest
from statements import statements_of

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for found in ("tests/**/*.py", "plugins/*/tests/**/*.py") for path in ROOT.glob(found)
)
PAGES = {
    "dpcore",
    "dpcore.errors",
    "dpcore.plugin",
    "dpcore.plugin.commands",
    "dpcore.plugin.engines",
    "dpcore.plugin.ledgers",
    "dpcore.plugin.parts",
    "dpcore.plugin.steps",
    "dpcore.plugin.columns",
    "dpcore.plugin.readers",
    "dpcore_lab.checks",
    "dpcore_lab.made_tables.tables",
    "dpcore_a_ddp.fixed_size_sample",
    "dpcore_accounting.advanced_composition",  # what other packages of ours import
    "dpcore_accounting.best",
    "dpcore_accounting.commands.printing",
    "dpcore_accounting.distributions",
    "dpcore_accounting.events.objective_perturbation",
    "dpcore_accounting.selections.exponential",
    "dpcore_accounting.selections.permute_and_flip",
    "dpcore_accounting.rdp",
    "dpcore_accounting.selections.report_noisy_max",
    "dpcore_accounting.samples",
    "dpcore_accounting.single",
    "dpcore_accounting.skellam",
    "dpcore_accounting.smallest_epsilon",
    "dpcore_accuracy_first.queries.gram",
    "dpcore_baselines.losses.hinge",
    "dpcore_baselines.losses.huber",
    "dpcore_baselines.losses.quantile",
    "dpcore_baselines.losses.row_loss",
    "dpcore_baselines.queries.descent",
    "dpcore_baselines.queries.gradient_sum",
    "dpcore_baselines.queries.moments",
    "dpcore_baselines.queries.standardized",
    "dpcore_baselines.queries.unit_gradient",
    "dpcore_baselines.without_privacy.references",
    "dpcore_dp_agd.logistic_line",
    "dpcore_ledger",
    "dpcore_ledger.stores",
    "dpcore_sklearn",
    "dpcore_tables.coded",
    "dpcore_tables.datasets",
    "dpcore_tables.kinds",
    "dpcore_tables.files",
    "dpcore_tables.readers",
    "dpcore_tables.schemas",
    "dpcore_tables.statistics",
    "dpcore_tables.store",
}
MOST_DEEP_IMPORTS = 337
"""It was 1,392. It may only fall: whoever makes it less states that here."""


def room_of(path):
    """Return the package, or the file of the core, that a file of tests is about."""
    first, *folders = path.relative_to(ROOT).parts[:-1]
    if first == "plugins":
        return f"dpcore_{folders[0].replace('-', '_')}"
    return f"dpcore.{folders[0] if folders else path.stem.removeprefix('test_')}"


def is_within(name, room):
    return room is not None and f"{name}.".startswith(f"{room}.")


def deep_imports(tree, room):
    """Yield the modules that a test imports, of ours, and that are neither public pages nor of its
    own room."""
    for node in statements_of(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            ours = re.match(r"dpcore(_\w+)?(\.|$)", name)
            if ours and name not in PAGES and not is_within(name, room):
                yield name


def patched(tree):
    """Yield the full names that a test replaces by ``monkeypatch.setattr``."""
    known = {}
    for node in statements_of(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            known |= {
                a.asname or a.name.split(".")[0]: a.asname and a.name or a.name.split(".")[0]
                for a in node.names
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "setattr":
            target, *rest = node.args
            if isinstance(target, ast.Constant):
                yield target.value
            elif isinstance(rest[0], ast.Constant):
                first, _, more = ast.unparse(target).partition(".")
                yield ".".join(filter(None, (known.get(first, first), more, rest[0].value)))


def private_of_others(tree, room):
    """Yield the private names of other rooms that a test replaces."""
    for name in patched(tree):
        if name.startswith("dpcore") and re.search(r"\._(?!_)", name) and not is_within(name, room):
            yield name


@pytest.fixture(scope="module")
def trees():
    """The tree of each file, parsed once for both rules."""
    return {path: ast.parse(path.read_text()) for path in FILES}


REPLACES = re.compile(r"\bsetattr\b")
"""What is in the text of a file that replaces a name."""


def test_deep_imports_do_not_become_more(trees):
    found = [name for path, tree in trees.items() for name in deep_imports(tree, room_of(path))]
    assert 0 < len(found) <= MOST_DEEP_IMPORTS


def test_no_test_replaces_a_private_name_of_another_room(trees):
    found = {
        str(path.relative_to(ROOT)): names
        for path, tree in trees.items()
        if REPLACES.search(path.read_text())
        and (names := [*private_of_others(tree, room_of(path))])
    }
    assert found == {}


@pytest.mark.parametrize(
    ("line", "room", "count"),
    [
        ("from dpcore.noise.source import Noise", "dpcore.queries", 1),
        ("import dpcore.noise.source", None, 1),
        ("from dpcore.noise.source import Noise", "dpcore.noise", 0),
        ("from dpcore.noises import Noise", "dpcore.noise", 1),
        ("from dpcore_a_ddp.rounds import rounds", "dpcore_dask", 1),
        ("from dpcore.plugin import fit, Gaussian", None, 0),
        ("from golden import record", None, 0),
    ],
)
def test_a_deep_import_is_found(line, room, count):
    assert len([*deep_imports(ast.parse(line), room)]) == count


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("monkeypatch.setattr('dpcore.noise.source._draw', f)", 1),
        ("from dpcore.noise import source\nmonkeypatch.setattr(source, '_draw', f)", 1),
        ("from dpcore.plugin import Noise\nmonkeypatch.setattr(Noise, '_draw', f)", 1),
        ("import dpcore.noise\nmonkeypatch.setattr(dpcore.noise.source, '_draw', f)", 1),
        ("import dpcore.noise.source as s\nmonkeypatch.setattr(s, '_draw', f)", 1),
        ("monkeypatch.setattr('dpcore.noise.source.draw', f)", 0),
        ("monkeypatch.setattr('dpcore.queries.count._coins', f)", 0),
        ("monkeypatch.setattr(os, '_exit', f)", 0),
    ],
)
def test_a_private_name_of_another_room_is_found(lines, count):
    assert len([*private_of_others(ast.parse(lines), "dpcore.queries")]) == count
