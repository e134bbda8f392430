"""The tables of facts: the documentation shows them, and nothing reads a fact in another way."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest
from fact_tables import markdown

from dpcore.plugin.parts import LossFacts
from dpcore.registry.tables.class_metadata import read
from dpcore.registry.tables.optimizer_spec import OptimizerFacts, fault_of_part, optimizer_facts
from dpcore.registry.tables.parts import MechanismFacts

ROOT = Path(__file__).parents[2]
OPTIONAL = [
    field.name
    for field in dataclasses.fields(OptimizerFacts)
    if field.name not in ("name", "slots", "needs", "relations", "minimize")
]


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="needs the documents of a checkout")
@pytest.mark.parametrize("table", [OptimizerFacts, LossFacts, MechanismFacts])
def test_the_documentation_shows_all_that_has_to_be_stated(table):
    page = (ROOT / "docs/plugins.md").read_text()
    marked = rf"<!-- facts: {table.__name__} -->\n(.*?)\n<!-- end -->"
    shown = re.search(marked, page, re.DOTALL)[1].splitlines()
    # The site shows the whole table.
    whole = markdown(table).splitlines()
    assert [row for row in whole if row in shown] == shown
    assert [row for row in whole if "| required |" in row and row not in shown] == []


def asked_by_name(tree):
    """Yield what is asked of an object by ``getattr`` or ``hasattr`` under a fact's name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("getattr", "hasattr") and isinstance(node.args[1], ast.Constant):
                if node.args[1].value in OPTIONAL:
                    yield node.args[1].value


@pytest.mark.slow
def test_facts_of_optimizers_are_read_in_one_way():
    # Thirteen were read by getattr, each with a default of its own, and a misspelt one was none.
    asked = {
        str(path.relative_to(ROOT)): [*asked_by_name(ast.parse(path.read_text()))]
        for folder in (ROOT / "dpcore", *ROOT.glob("plugins/*/dpcore_*"))
        for path in folder.rglob("*.py")
    }
    # Of queries, which have no table.
    assert asked.pop("dpcore/session/trust_boundary.py") == ["private"]
    assert {path: names for path, names in asked.items() if names} == {}
    assert [*asked_by_name(ast.parse("getattr(target, 'theorem', '')"))] == ["theorem"]


def test_what_the_objects_of_an_accountant_have_is_no_misspelt_fact():
    class Own:
        name, unit, fully_adaptive = "own", "epsilon", True
        from_budget = classmethod(lambda cls, epsilon, delta, conversion: cls())
        supports = classmethod(lambda cls, event: True)
        conversion = property(lambda self: "basic")

        def cost(self, event): ...
        def compose(self, event): ...
        def get_epsilon(self, delta): ...

    assert fault_of_part("accountant", Own) == ""
    Own.conversionss = ("basic",)
    assert "Did you mean 'conversions'?" in fault_of_part("accountant", Own)


def test_what_an_optimizer_states_is_what_it_stated_first():
    class Turns:
        """Is its authors' code whenever that is not looked at for the statement."""

        relations = needs = ()
        slots = {}
        asked = iter(range(9))
        as_published = property(lambda self: next(self.asked) % 2 == 1)

        def minimize(self, problem, session):
            return None

    turns = Turns()
    twin = [read(OptimizerFacts, turns).as_published for _ in range(2)]
    assert twin == [False, True]
    assert optimizer_facts(turns) is optimizer_facts(turns)
