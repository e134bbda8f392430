"""The parameters that an estimator inherits, in its own docstring: what ``help`` shows first."""

from __future__ import annotations

import inspect
import re
from typing import TypeVar

__all__ = ["with_inherited_parameters"]

_Class = TypeVar("_Class", bound=type)
_PARAMETERS = re.compile(r"^Parameters\n-+\n.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def with_inherited_parameters(cls: _Class) -> _Class:
    """Return the class, whose docstring's parameters are followed by those of the docstrings of the
    dataclasses that it is made of. Nothing is changed where docstrings are left out (``-OO``)."""
    if cls.__doc__ is None:
        return cls
    own = inspect.cleandoc(cls.__doc__)
    inherited = [
        line
        for base in cls.__mro__[1:]
        if "__dataclass_fields__" in vars(base)
        for found in _PARAMETERS.finditer(inspect.cleandoc(base.__doc__ or ""))
        for line in found[0].splitlines()[2:]
    ]
    cls.__doc__ = _PARAMETERS.sub(lambda found: "\n".join([found[0], *inherited]), own)
    return cls
