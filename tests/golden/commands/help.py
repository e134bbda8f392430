"""The help text of every command, which its options and their defaults are in."""

import re

from golden.command import dpcore


def records():
    """Return the lines of ``--help`` by command."""
    return dict(_helps("dpcore"))


def _helps(command):
    said = dpcore(f"{command} --help")
    assert (said.status, said.err) == (0, ""), said
    yield f"{command} --help", said.out.splitlines()
    _, _, listed = said.out.partition("\nCommands:\n")
    for name in re.findall(r"(?m)^  (\S+)", listed):
        yield from _helps(f"{command} {name}")
