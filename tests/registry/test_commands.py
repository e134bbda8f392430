"""A command is a function whose parameters say what they are, or a group of such functions."""

from pathlib import Path
from typing import Annotated, Literal

import pytest

from dpcore.plugin.commands import Argument, CommandGroup, Option
from dpcore.registry.commands import fault_of_command


def nothing():
    """Do nothing."""


def no_text():
    pass


def bare(path: Path):
    """Have a parameter that says nothing of itself."""


def good(form: Annotated[Literal["a"], Option()] = "a", *, path: Annotated[Path, Argument()]):
    """Have parameters."""


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        (nothing, ""),
        (good, ""),
        (Path, "is neither a function nor a CommandGroup."),
        (no_text, "has no docstring, which is its help text."),
        (bare, "has a parameter 'path' without Annotated"),
        (CommandGroup("G.", ()), "has no command."),
        (CommandGroup("G.", (("A", nothing),)), "'A', which is not in kebab case"),
        (CommandGroup("G.", (("a", bare),)), "has a command 'a' that has a parameter 'path'"),
    ],
)
def test_what_is_no_command_is_told(target, fault):
    told = fault_of_command(target)
    assert fault in told and bool(told) == bool(fault)
