"""Facts that a class states: read with their defaults, refused where they are no such facts."""

from dataclasses import dataclass

import pytest
from fact_tables import markdown

from dpcore.plugin.parts import Logistic, LossFacts
from dpcore.registry.tables.class_metadata import Method, Shape, Words, fact, fault_of, read

RATE = Shape("a number > 0", lambda value: type(value) is float and value > 0)


@dataclass(frozen=True, kw_only=True)
class KettleFacts:
    """What a kettle states."""

    rate: float = fact(RATE, "How fast it boils.")
    signals: tuple[str, ...] = fact(Words("signal", ("whistle", "light")), "What it gives.", ())
    pour: object = fact(Method(("cup", "most")), "Fills a cup.", None)


def kettle(**stated):
    return type("Kettle", (), {"rate": 2.0, **stated})


class Word(str):
    """May say something else each time that it is asked."""


def pours_to(self, cup, most):
    return (cup, most)


def test_what_is_stated_is_read_and_the_rest_is_the_default():
    facts = read(KettleFacts, kettle(signals=("light",)))
    assert (facts.rate, facts.signals, facts.pour) == (2.0, ("light",), None)
    # Of an object, its methods are bound.
    assert read(KettleFacts, kettle(pour=pours_to)()).pour("cup", most=3) == ("cup", 3)


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"rate": 0.0}, "has rate=0.0, which is not a number > 0."),
        ({"signals": "light"}, "has signals that are not a tuple of words."),
        ({"signals": ("wistle",)}, "the unknown signal 'wistle'. Did you mean whistle? Known: wh"),
        ({"signals": (Word("light"),)}, "has signals that are not a tuple of words."),
        ({"pour": 3}, "has a pour that cannot be called."),
        ({"pour": lambda self, cup: cup}, "cannot be called as pour(self, cup, most)."),
        ({"signal": ("light",)}, "states 'signal', which nobody reads. Did you mean 'signals'?"),
        ({"pours": pours_to}, "states 'pours', which nobody reads. Did you mean 'pour'?"),
    ],
)
def test_a_fact_that_is_none_is_told(stated, told):
    assert told in fault_of(KettleFacts, kettle(**stated))


@pytest.mark.parametrize(
    "stated",
    [
        {"signals": ["light"], "pour": pours_to},
        {"pour": staticmethod(lambda cup, most: cup)},
        {"pour": classmethod(pours_to)},
        {"pour": None},
        {"rate": property(lambda self: 3.0)},  # Only an object knows.
        {"pour": pours_to, "pours": 3, "_signal": 5},
    ],
)
def test_a_class_that_states_its_facts(stated):
    assert fault_of(KettleFacts, kettle(**stated)) == ""


def test_what_has_to_be_stated_may_be_a_field():
    assert "has no 'rate', which dpcore.protocols.Kettle asks" in fault_of(
        KettleFacts, type("K", (), {})
    )
    assert (
        fault_of(KettleFacts, dataclass(type("K", (), {"__annotations__": {"rate": "float"}})))
        == ""
    )


def test_a_class_that_states_a_fact_by_its_earlier_name_is_told_the_new_one():
    # Unread, a loss that only falls would be taken for any other.
    told = fault_of(LossFacts, type("L", (Logistic,), {"falling": True}))
    assert told == "" and fault_of(LossFacts, Logistic) == ""
    stated = {name: getattr(Logistic, name) for name in ("lipschitz", "smoothness", "name")}
    stated |= {"classification": True, "value": Logistic.value, "dvalue": Logistic.dvalue}
    told = fault_of(LossFacts, type("L", (), {**stated, "falling": True}))
    assert told == "states 'falling', which is 'nonincreasing' now."


def test_the_table_of_the_documentation():
    assert markdown(KettleFacts).splitlines()[2:] == [
        "| `rate` | a number > 0 | required | How fast it boils. |",
        "| `signals` | words among whistle, light | none | What it gives. |",
        "| `pour` | method (cup, most) | none | Fills a cup. |",
    ]
