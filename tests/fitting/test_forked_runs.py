"""A run is of the process that began it."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from forked import refusal_in_a_child

from dpcore.fitting.run_state import RunDoor


def test_a_child_that_was_forked_on_the_way_opens_no_session():
    door = RunDoor(SimpleNamespace(), None, SimpleNamespace(), SimpleNamespace())
    door.require_here()
    told = refusal_in_a_child(door.require_here)
    assert told.startswith("This process was forked during a run")
    later = replace(door)  # a run that begins there is that process's
    assert later.process == os.getpid()
    with pytest.raises(AttributeError):
        door.process = 0
