"""Facts that a part states as attributes of its class: how a table of them is written, and read.

A table is a frozen dataclass of ``fact`` fields: name, type, default and one line of documentation.
``read`` is the one reader of what a part states; ``fault_of`` is the check of a class at loading.
"""

import dataclasses
import difflib
import functools
import inspect
import numbers
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from types import FunctionType, MemberDescriptorType
from typing import Any, Protocol, TypeVar

from dpcore.errors import near_names
from dpcore.moved import table_of
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.slots import Slot

__all__ = [
    "NUMBER",
    "PRESETS",
    "RELATIONS",
    "SLOTS",
    "TEXT",
    "TEXTS",
    "TRUTH",
    "VALUES",
    "WHOLE",
    "Kind",
    "Method",
    "Shape",
    "Words",
    "fact",
    "fault_of",
    "near_name",
    "read",
]

Table = TypeVar("Table")

# Of two names, by difflib, from which on one is taken for the other misspelt.
_LIKENESS = 0.8


class Kind(Protocol):
    """The kind of values that a fact may have."""

    @property
    def says(self) -> str:
        """The kind in words, for the documentation."""

    def fault(self, name: str, value: Any) -> str:
        """Return what is wrong with a value, as the end of a sentence; empty if nothing."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of values that ``holds`` tells by looking at one."""

    says: str
    holds: Callable[[Any], bool]

    def fault(self, name: str, value: Any) -> str:
        if self.holds(value):
            return ""
        return f"has {name}={' '.join(reprlib.repr(value).split())}, which is not {self.says}."


@dataclass(frozen=True, slots=True)
class Words:
    """A tuple of words, among ``known`` if that is not empty."""

    word: str
    known: tuple[str, ...] = ()
    least: int = 0

    @property
    def says(self) -> str:
        return f"words among {', '.join(self.known)}" if self.known else "a tuple of words"

    def fault(self, name: str, value: Any) -> str:
        if not (isinstance(value, (tuple, list)) and all(map(_is_text, value))):
            return f"has {name} that are not a tuple of words."
        if len(value) < self.least:
            return f"has an empty {name}: at least one {self.word} is needed."
        unknown = next((v for v in value if self.known and v not in self.known), None)
        if unknown is None:
            return ""
        return f"declares the unknown {self.word} {unknown!r}.{near_names(unknown, self.known)}"


@dataclass(frozen=True, slots=True)
class Method:
    """A method that takes these parameters, beside the object or class that it is asked of."""

    parameters: tuple[str, ...] = ()
    of_class: bool = False

    @property
    def says(self) -> str:
        return f"{'class ' * self.of_class}method ({', '.join(self.parameters)})"

    def fault(self, name: str, value: Any) -> str:
        if not callable(value):
            return f"has a {name} that cannot be called."
        if self.of_class and isinstance(value, FunctionType):
            return f"has a {name} that is no class method."
        own = ("self",) if isinstance(value, FunctionType) else ()
        try:
            inspect.signature(value).bind(*own, *self.parameters)
        except TypeError:
            return (
                f"has a {name} that cannot be called as {name}"
                f"({', '.join((*own, *self.parameters))})."
            )
        except ValueError:  # of no signature that Python could tell
            return ""
        return ""


def fact(kind: Kind, doc: str, default: Any = MISSING) -> Any:
    """Return a field of a table; without a default the fact has to be stated."""
    metadata = {"kind": kind, "doc": doc, "default": default}
    if isinstance(default, dict):  # which a dataclass takes from a factory only
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def read(table: type[Table], part: Any) -> Table:
    """Return what a part states, the table's defaults where it states nothing. ``part`` : a class
    or an object of it, whose methods come bound."""
    facts: Any = table
    stated = {}
    for field in dataclasses.fields(facts):
        default = (field.metadata["default"],) if _is_optional(field) else ()
        stated[field.name] = getattr(part, field.name, *default)
    return table(**stated)


def fault_of(table: type[Any], part: Any, others: Iterable[str] = ()) -> str:
    """Return what is wrong with the facts that a class states, as the end of a sentence; empty if
    nothing. A name like one of the table's that the class does not state is taken for it, unless it
    is one of ``others``, which its objects have."""
    own = _public_names(part)
    fields = dataclasses.fields(part) if dataclasses.is_dataclass(part) else ()
    held = {field.name for field in fields}
    known = {*others, *(field.name for field in dataclasses.fields(table))}
    for field in dataclasses.fields(table):
        if field.name not in own and field.name not in held:
            is_method = isinstance(field.metadata["kind"], Method)
            alike = [n for n in own if own[n] is is_method and n not in held and n not in known]
            renamed = (name for name in own if table_of("facts").get(name) == field.name)
            if old := next(renamed, None):
                return f"states {old!r}, which is {field.name!r} now."
            if meant := near_name(field.name, alike):
                return f"states {meant!r}, which nobody reads. Did you mean {field.name!r}?"
            if not _is_optional(field):
                return f"has no {field.name!r}, which {_contract_of(table)} asks for."
        elif fault := _fault_of_value(part, field):
            return fault
    return ""


def near_name(name: str, others: Iterable[str]) -> str | None:
    """Return which of these names is taken for the other one misspelt, if any is."""
    return next(iter(difflib.get_close_matches(name, list(others), 1, _LIKENESS)), None)


def _fault_of_value(part: Any, field: dataclasses.Field[Any]) -> str:
    """Return what is wrong with what a class states; of properties and fields only its objects
    know."""
    value = inspect.getattr_static(part, field.name, MISSING)
    if value is MISSING or isinstance(value, (property, MemberDescriptorType)):
        return ""
    stated = getattr(part, field.name)
    if isinstance(value, staticmethod):
        stated = functools.partial(stated)  # which takes no ``self``
    if stated is field.metadata["default"]:
        return ""
    kind: Kind = field.metadata["kind"]
    return kind.fault(field.name, stated)


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return field.metadata["default"] is not MISSING


def _public_names(part: Any) -> dict[str, bool]:
    """Return the names that a class and its bases state, and whether each is that of a method."""
    bases = [cls for cls in inspect.getmro(part) if cls is not object]
    stated = {name: value for cls in bases for name, value in vars(cls).items()}
    methods = (FunctionType, classmethod, staticmethod)
    return {name: isinstance(v, methods) for name, v in stated.items() if not name.startswith("_")}


def _contract_of(table: type[Any]) -> str:
    name = table.__name__.removesuffix("Facts")
    places = {"Optimizer": "optimizer.Optimizer", "AnswerSource": "answer_source.AnswerSource"}
    return f"dpcore.protocols.{places.get(name, name)}"


def _is_text(value: Any) -> bool:
    return type(value) is str  # One of another class may say something else each time.


def _are_texts(values: Any) -> bool:
    return isinstance(values, (tuple, list)) and all(map(_is_text, values))


def _are_slots(slots: Any) -> bool:
    pairs = slots.items() if isinstance(slots, Mapping) else [(slots, slots)]
    return all(_is_text(name) and isinstance(slot, Slot) for name, slot in pairs)


def _are_presets(presets: Any) -> bool:
    return isinstance(presets, Mapping) and all(isinstance(v, Mapping) for v in presets.values())


TEXT = Shape("a text", _is_text)
TEXTS = Shape("a tuple of texts", _are_texts)
TRUTH = Shape("true or false", lambda value: type(value) is bool)
NUMBER = Shape("a number", lambda v: not isinstance(v, bool) and isinstance(v, numbers.Real))
WHOLE = Shape("a whole number", lambda value: type(value) is int)
VALUES = Shape("a dict of parameter to value", lambda value: isinstance(value, Mapping))
SLOTS = Shape("a dict of text to Slot", _are_slots)
PRESETS = Shape("a dict of preset to a dict of what it sets", _are_presets)
RELATIONS = Words("relation", tuple(relation.value for relation in NeighboringRelation), least=1)
