"""Errors of a fit name its settings as the command line and as Python have them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import dpcore
from dpcore import fit

_ELSEWHERE = {"set": "params", "as": "analyst"}
"""Options whose argument has another name."""
_OF_THE_COMMAND_LINE = {"class_weights.py", "normalised_error.py"}
"""Files that only commands reach: they read the texts of options, or forecast for a plan."""
_FOLDERS = ("fitting", "session", "accountants", "ledger", "inference", "evaluation", "bounds")


def _texts(tree: ast.AST) -> Iterator[str]:
    """Yield every text of a module that is no docstring, ``{}`` for what is filled in."""
    parts = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(value) for value in node.values}
            yield "".join(
                str(value.value) if isinstance(value, ast.Constant) else "{}"
                for value in node.values
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def _one_sided(source: str) -> list[str]:
    """Return the texts that name an option whose argument of ``fit`` they leave out."""
    arguments = {*inspect.signature(fit).parameters}
    found = []
    for text in _texts(ast.parse(source)):
        for option in re.findall(r"--([a-z][a-z0-9-]*)", text):
            name = _ELSEWHERE.get(option, option.replace("-", "_"))
            if name in arguments and f"{name}=" not in text:
                found.append(f"--{option}: {text}")
    return found


def test_a_message_that_names_an_option_names_the_argument_of_fit_too() -> None:
    """Who calls ``fit`` has no command line, and was told to use ``--loss``."""
    package = Path(dpcore.__file__).parent
    found = [
        f"{path.name}: {text}"
        for folder in _FOLDERS
        for path in sorted((package / folder).rglob("*.py"))
        if path.name not in _OF_THE_COMMAND_LINE
        for text in _one_sided(path.read_text())
    ]
    assert not found, "\n".join(found)


def test_an_option_alone_is_found() -> None:
    assert _one_sided('raise ValueError(f"{a} needs squared loss (--loss ridge).")')
    assert _one_sided('f"Leave --epsilon away, as {name} has none."')
    assert not _one_sided("\"use --loss ridge (loss='ridge')\"; '--test FILE'")
