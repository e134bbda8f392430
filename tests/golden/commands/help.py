"""What the help of every command says: its usage, its paragraphs, its options with their defaults.

One line for each, as versions of typer lay them out and write kinds of values (``<str>``, TEXT) in
ways of their own.
"""

import re

from golden.command import dpcore

_KINDS = {
    "str": "text",
    "int": "integer",
    "int range": "integer range",
    "float range": "float range",
}


def records():
    """Return what ``--help`` says by command, a line for each paragraph and option."""
    return dict(_helps("dpcore"))


def in_lines(text):
    """Return a help text with a line for each entry, whatever its typer's layout.

    >>> in_lines("Usage: dpcore plot {file}\\n\\n  A\\n  b.\\n\\nOptions:\\n  --y <str>  Of y.\\n")
    ['usage: dpcore plot file', 'A b.', 'Options:', '--y text: Of y.']
    """
    lines = []
    for block in text.replace("\\[", "[").rstrip("\n").split("\n\n"):
        title, _, entries = block.partition("\n")
        if entries.startswith("  ") and re.fullmatch(r"[A-Z][^:]*:", title):
            lines += [title, *map(_entry, re.split(r"\n(?=  ?\S)", entries))]
        elif block.startswith("Usage:"):
            lines.append(_name(_joined(block)))
        else:
            lines.append(_joined(block))
    return lines


def _joined(text):
    """Return a paragraph as one line; a word that was broken at its hyphen is whole again."""
    return re.sub(r"(?<=\w-) (?=\w)", "", " ".join(text.split()))


def _name(text):
    """Return the name of an option or argument, with its kind, without its marks and capitals."""
    text = re.sub(r"<([^>]*)>", lambda found: _KINDS.get(found[1], found[1]), text.strip())
    return re.sub(r"[][{}<>]|\.\.\.", "", text).lower()


def _entry(text):
    name, _, rest = re.sub(r"^ +", "", text).partition("  ")
    return f"{_name(name)}: {_joined(rest)}"


def _helps(command):
    said = dpcore(f"{command} --help")
    assert (said.status, said.err) == (0, ""), said
    yield f"{command} --help", in_lines(said.out)
    _, _, listed = said.out.partition("\nCommands:\n")
    for name in re.findall(r"(?m)^  (\S+)", listed):
        yield from _helps(f"{command} {name}")
