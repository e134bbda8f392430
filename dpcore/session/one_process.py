"""Objects that may exist once only, and in the process that made them."""

import os
import traceback
import weakref
from typing import ClassVar

from dpcore.errors import InvalidInputError
from dpcore.noise.entropy import Unshareable

__all__ = ["OneProcess"]


class OneProcess(Unshareable):
    """Base of objects that can be neither copied nor pickled, nor used in a forked child.

    Each copy would have the whole of what is left of a budget to itself. A child that was forked
    within a run, by what the run asked, makes none: it would make a run of its own, with the
    promise of this one.
    """

    _elsewhere: ClassVar[str]
    """The message to a forked child."""
    _is_in_a_run: ClassVar[bool] = False

    def __init__(self) -> None:
        if OneProcess._is_in_a_run:
            raise InvalidInputError("This process was forked during a run, which is its parent's.")
        self._pid = os.getpid()
        self._forked = False
        _made_here.add(self)

    def _require_this_process(self) -> None:
        """Raise InvalidInputError in a process forked from that which made it."""
        if not self._is_here:
            raise InvalidInputError(self._elsewhere)

    @property
    def _is_here(self) -> bool:
        return os.getpid() == self._pid and not self._forked


_made_here: weakref.WeakSet[OneProcess] = weakref.WeakSet()


def _mark_forked() -> None:
    # Beside the process id, which a namespace or a reused number can make equal.
    for each in tuple(_made_here):
        each._forked = True
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_stack(None)]
    OneProcess._is_in_a_run |= any(name.startswith("dpcore.fitting.") for name in modules)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_forked)
