"""The kinds of what can be registered, and the data that each takes beside a name.

Data are read without an import of what is registered: the suffixes of a reader, the options of a
step. They are plain values: texts, numbers, truth values, tuples of them, and frozen dataclasses of
them.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.privacy.immutable import fault_of_unfrozen

__all__ = ["KINDS", "Kind", "checked_data", "hook_of", "kind_of", "plural"]


@dataclass(frozen=True)
class Kind:
    """One kind of what can be registered.

    Parameters
    ----------
    plural : as hooks and the command line use it, in kebab case.
    data : keywords of ``register`` beside ``summary`` and ``reference``, each with its default.
    alone : the keywords of ``data`` whose every value belongs to one registration of the kind, such
        as a suffix: a second one is an error.
    """

    name: str
    plural: str
    data: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    alone: tuple[str, ...] = ()


_KINDS = (
    Kind("optimizer", "optimizers", MappingProxyType({"default": False, "options": ()})),
    Kind("mechanism", "mechanisms"),
    Kind("accountant", "accountants"),
    Kind("loss", "losses"),
    Kind("dataset", "datasets"),
    Kind("engine", "engines"),
    Kind("command", "commands", MappingProxyType({"group": "", "fits": False})),
    Kind("exporter", "exporters", MappingProxyType({"suffixes": ()}), alone=("suffixes",)),
    Kind("ledger", "ledgers"),
    Kind(
        "ledger-store",
        "ledger-stores",
        MappingProxyType({"schemes": (), "suffixes": ()}),
        alone=("schemes", "suffixes"),
    ),
    Kind("column-kind", "column-kinds"),
    Kind(
        "reader",
        "readers",
        {
            "suffixes": (),
            "schemes": (),
            "named": True,
            "typed": False,
            "query": False,
            "schema_from_rows": "",
            "options": (),
        },
        alone=("suffixes", "schemes"),
    ),
    Kind("row-store", "row-stores", {"suffixes": ()}, alone=("suffixes",)),
    Kind("file-loader", "file-loaders"),
    Kind("step", "steps", {"options": ()}),
)
_BY_NAME = {kind.name: kind for kind in _KINDS}
KINDS = tuple(_BY_NAME)


def kind_of(name: str) -> Kind:
    """Return the kind of a name that is one."""
    return _BY_NAME[name]


def plural(name: str) -> str:
    """Return the plural of a kind, as hooks and the command line use it."""
    return _BY_NAME[name].plural


def hook_of(name: str) -> str:
    """Return the name of a kind's hook."""
    return f"register_{plural(name).replace('-', '_')}"


_FORMS = {
    "suffixes": (re.compile(r"\.[a-z0-9.+_-]+"), ".csv"),
    "schemes": (re.compile(r"[a-z][a-z0-9.+-]*"), "s3"),
}
"""Of data, the form of each text and an example: others would never be met."""


def checked_data(kind: str, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a registration, with defaults, read-only; InvalidInputError for what its
    kind does not take, or what is no plain value of the default's type."""
    known = _BY_NAME[kind].data
    for key, value in given.items():
        if key not in known:
            hint = near_names(key, ("summary", "reference", *known))
            raise InvalidInputError(f"register({name!r}, ...) takes no {key!r}.{hint}")
        expected = type(known[key])
        if not isinstance(value, expected) or not _is_plain(value):
            raise InvalidInputError(
                f"register({name!r}, ...) needs {key}=... to be a {expected.__name__} of plain "
                "values: texts, numbers, truth values, tuples and frozen dataclasses of them."
            )
    for key, (form, such_as) in _FORMS.items():
        wrong = [value for value in given.get(key, ()) if not form.fullmatch(str(value))]
        if wrong:
            raise InvalidInputError(
                f"register({name!r}, ...): expected {key}=... such as {such_as!r}, and not "
                f"{wrong[0]!r}."
            )
    return MappingProxyType({**known, **given})


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return not fault_of_unfrozen(type(value)) and all(
            _is_plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        )
    return value is None or type(value) in (str, int, float, bool)
