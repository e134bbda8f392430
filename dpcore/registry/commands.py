"""Commands as data: a function, and what the command line says of each of its parameters.

The command line builds its own parser from them (``dpcore.cli.commands``), so that the command of a
plugin imports no library of command lines, and asks for no version of one.
"""

import inspect
import re
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Annotated, Any

from dpcore.errors import InvalidInputError

__all__ = ["Argument", "CommandGroup", "Option", "fault_of_command"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Argument:
    """A parameter of a command, given by its place: ``Annotated[Path, Argument(help="...")]``.

    Parameters
    ----------
    help : what it is, a sentence or more.
    metavar : its name in the help text, where it is not the parameter's.
    show_default : whether the help text has its default.

    Examples
    --------
    >>> from dpcore.plugin.commands import Argument
    >>> Argument(help="A model file.").help
    'A model file.'
    """

    help: str = ""
    metavar: str | None = None
    show_default: bool = True


@dataclass(frozen=True)
class Option:
    """A parameter of a command, given by its name: ``Annotated[float, Option()] = 1.0``.

    A parameter of type ``bool`` is a flag, one of type ``list`` may be given several times.

    Parameters
    ----------
    names : as on the command line, by spaces (``"--quiet -q"``), where they are not the parameter's
        name with hyphens. A flag states them.
    help : what it is, a sentence or more.
    envvar : the environment variable that it is taken from where it is not given.
    metavar : the word for its value in the help text, in place of the kind of value.
    min, max : ends of the range of a number, themselves in it.
    group : the heading of the help text that it is under.
    show_default : whether the help text has its default.
    instead : of a flag: called in place of the command, whatever else is missing or wrong.

    Examples
    --------
    >>> from dpcore.plugin.commands import Option
    >>> Option("--json", help="Print one JSON object.").names
    '--json'
    """

    names: str = ""
    help: str = ""
    envvar: str | None = None
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    group: str = ""
    show_default: bool = True
    instead: Callable[[], None] | None = None

    @staticmethod
    def assigned(texts: Sequence[str] | None, option: str) -> dict[str, str]:
        """Return the values of ``KEY=VALUE`` by name, in their order; InvalidInputError names the
        option otherwise."""
        pairs = [Option.pair(text, option) for text in texts or ()]
        if len({key for key, _ in pairs}) < len(pairs):
            raise InvalidInputError(f"{option} sets the same name twice.")
        return dict(pairs)

    @staticmethod
    def pair(text: str, option: str) -> tuple[str, str]:
        """Return key and value of ``KEY=VALUE``; InvalidInputError names the option otherwise."""
        key, equals, value = text.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise InvalidInputError(f"Expected {option} {text!r} as NAME=VALUE.")
        return key.strip(), value.strip()


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name, such as ``dpcore ledger show``.

    Parameters
    ----------
    help : what they are for, in a sentence.
    commands : names, in kebab case, each with its function, in the order of the help text.

    Examples
    --------
    >>> from dpcore.plugin.commands import CommandGroup
    >>> def show() -> None:
    ...     "Print what there is."
    >>> CommandGroup("Keep what there is.", (("show", show),)).commands[0][0]
    'show'
    """

    help: str
    commands: tuple[tuple[str, Callable[..., None]], ...]


def fault_of_command(target: Any) -> str:
    """Return why a target is no command, as the end of a sentence; empty if it is one."""
    if not isinstance(target, CommandGroup):
        return _fault_of_function(target)
    for name, function in target.commands:
        if not _NAME.fullmatch(name):
            return f"has a command {name!r}, which is not in kebab case."
        if fault := _fault_of_function(function):
            return f"has a command {name!r} that {fault}"
    return "" if target.commands else "has no command."


def _fault_of_function(function: Any) -> str:
    if not isinstance(function, FunctionType):
        return "is neither a function nor a CommandGroup."
    if not inspect.getdoc(function):
        return "has no docstring, which is its help text."
    stated = typing.get_type_hints(function, include_extras=True)
    for name in inspect.signature(function).parameters:
        hint = stated.get(name)
        if typing.get_origin(hint) is not Annotated:
            return f"has a parameter {name!r} without Annotated[..., Option(...)] or Argument(...)."
    return ""
