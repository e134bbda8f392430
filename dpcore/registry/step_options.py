"""The options of steps and of algorithms, as data beside their names: ``dpcore train --help``
imports none of them."""

import re
from dataclasses import dataclass

from dpcore.errors import InvalidInputError

__all__ = ["OPTION_TYPES", "StepOption", "fault_of_step"]

OPTION_TYPES = {
    "flag": bool,
    "float": float,
    "int": int,
    "text": str,
    "texts": list[str],
}
"""The type of a value, by the word that a declaration has for it."""
_TYPES: dict[str, tuple[type, ...]] = {
    "flag": (bool,),
    "float": (float, int, type(None)),
    "int": (int, type(None)),
    "text": (str, type(None)),
    "texts": (type(None),),
}
"""The types of its default."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class StepOption:
    """An option of ``dpcore train`` that belongs to a step, or a target of an algorithm.

    A target has ``name``, ``type``, ``default``, ``help`` and ``group`` alone.

    Parameters
    ----------
    name : in kebab case, without the hyphens before it.
    type : ``flag``, ``float``, ``int``, ``text``, or ``texts``, which may be said again.
    default : of the field and of the type; ``None`` where the option is to be left out, and for
        ``texts``; of a flag ``False``.
    field : of the step, which takes the value; "" for none, where the option only asks for it.
    word : the one value by which the option asks for the step, where it has other meanings too; ""
        for any value but the default.
    shared : whether the run has the option too, so that by itself it does not ask for the step. It
        can be left out then: what one step states is nothing to the runs of others.
    alone : a sentence for whoever gives the option without the step, in which ``{value}`` is its
        value; "" where the option asks for the step.
    group : its heading in ``--help``.

    Raises InvalidInputError for an option that could not be one.
    """

    name: str
    type: str
    default: bool | float | int | str | None = None
    help: str = ""
    field: str = ""
    word: str = ""
    shared: bool = False
    alone: str = ""
    group: str = "Steps beside the fit"

    def __post_init__(self) -> None:
        types = _TYPES.get(self.type, (type(self.default),))
        reasons = {
            f"name={self.name!r} to be in kebab case": not _NAME.fullmatch(self.name),
            f"type={self.type!r} to be one of {', '.join(OPTION_TYPES)}": self.type not in _TYPES,
            f"default={self.default!r} to be of the type": type(self.default) not in types,
            f"default={self.default!r} to be none, as it is shared": bool(
                self.shared and not (self.default is None or self.default is False)
            ),
        }
        for expected, holds in reasons.items():
            if holds:
                raise InvalidInputError(f"StepOption({self.name!r}, ...): expected {expected}.")

    @property
    def parameter(self) -> str:
        """The name of the option as a parameter of a function."""
        return self.name.replace("-", "_")

    def asks(self, value: object) -> bool:
        """Return whether a value asks for the step."""
        if self.shared or self.alone:
            return False
        return value in ([self.word], self.word) if self.word else value != self.default


def fault_of_step(target: object) -> str:
    """Return why a class is no step, as the end of a sentence; empty if it is one."""
    missing = [name for name in ("check", "name", "phase") if not hasattr(target, name)]
    return f"has no {missing[0]!r}, which every step declares." if missing else ""
