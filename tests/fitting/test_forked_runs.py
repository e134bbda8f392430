"""A run is of the process that began it."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpcore.errors import InvalidInputError
from dpcore.fitting.run_state import RunDoor


def test_a_child_that_was_forked_on_the_way_opens_no_session():
    door = RunDoor(SimpleNamespace(), None, SimpleNamespace(), SimpleNamespace())
    door.require_here()
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            door.require_here()
        except InvalidInputError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        assert told.read().startswith("This process was forked during a run")
    later = replace(door)  # a run that begins there is that process's
    assert later.process == os.getpid()
    with pytest.raises(AttributeError):
        door.process = 0
