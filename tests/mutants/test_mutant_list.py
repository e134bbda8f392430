"""Every mutant of the list is one of the code as it is; ``run.py`` runs tests on them."""

import ast
from dataclasses import replace

import pytest
from mutant_list import ROOT, StaleMutantError, mutants, mutated, rooms

LISTED = mutants()
SURVIVORS = [mutant for mutant in LISTED if mutant.survives]


def test_there_are_two_hundred_in_every_room_of_the_core_and_every_plugin():
    core = {path.parent.name for path in (ROOT / "dpcore").glob("*/__init__.py")}
    plugins = {path.name for path in (ROOT / "plugins").glob("*/")}
    assert {mutant.room for mutant in LISTED} == core | plugins
    assert len({mutant.key for mutant in LISTED}) == len(LISTED) >= 200
    assert len(SURVIVORS) <= len(LISTED) // 10


def test_the_tests_of_each_room_are_there():
    paths = [path for of_room in rooms().values() for path in of_room]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_each_applies_once_and_is_another_program():
    for mutant in LISTED:
        found = mutated(mutant)
        right = found.path.read_text()
        compile(found.statement, str(found.path), "exec")
        assert found.statement not in right and found.text != right
        right_one, wrong_one = (
            ast.parse(text, mode="eval") for text in (mutant.expression, mutant.becomes)
        )
        assert ast.dump(right_one) != ast.dump(wrong_one), mutant


@pytest.mark.parametrize(
    "changes",
    [
        {"function": "Account.charge_and_draw"},
        {"function": "Accounts.charge_then_draw"},
        {"expression": "self.ledger.charge(entries())"},
        {"expression": "self"},
        {"function": "Account.charge_then_draw", "beside": "Gaussian"},
        {"function": "_pure", "expression": "event"},
    ],
)
def test_a_stale_one_is_told(changes):
    charged = next(
        mutant for mutant in LISTED if mutant.expression == "self.ledger.charge(entry())"
    )
    with pytest.raises(StaleMutantError, match="is found"):
        mutated(replace(charged, **changes))


def test_a_layout_of_the_source_is_no_other_expression():
    charged = next(
        mutant for mutant in LISTED if mutant.expression == "self.ledger.charge(entry())"
    )
    spaced = replace(charged, expression="self . ledger.charge( entry( ) )")
    assert mutated(spaced).text == mutated(charged).text
