"""Docstrings of this project as Markdown: the section of parameters becomes a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SECTION = re.compile(r"(Parameters|Attributes)\n-{3,}\n(.*?)(?=\n\n|\Z)", re.DOTALL)
_NAME = re.compile(r"(?m)^(\*{0,2}\w[\w, *]*) : ")
_EXAMPLE = re.compile(r"(?m)^>>> (?:.*\n?)(?:(?!\n).+\n?)*")


def as_markdown(text: str) -> str:
    """Return a docstring as Markdown: parameters as a list, examples as code."""

    def listed(found: re.Match[str]) -> str:
        return f"**{found[1]}**\n\n" + _NAME.sub(r"* `\1`: ", found[2])

    def fenced(found: re.Match[str]) -> str:
        return f"```pycon\n{found[0].rstrip()}\n```\n"

    return _EXAMPLE.sub(fenced, _SECTION.sub(listed, text))


class AsMarkdown(griffe.Extension):
    """Turns every docstring into Markdown before it is shown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
