"""Every import of ours that a page shows, and every name of ours that it writes with its module."""

import ast
import pkgutil
import re
from contextlib import suppress
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[3]
PATTERNS = ("*.md", "docs/**/*.md", "plugins/*/*.md", "bench/**/*.md")
_STATEMENT = re.compile(r"(?:from|import) dpcore[\w.]*(?: import (?:\([^)]*\)|[^\n`#]*))?")
_NAME = re.compile(r"`(dpcore(?:_\w+)?(?:\.[A-Za-z_]\w*)+)\b(?!\.[a-z]+`)")


def records():
    """Return the imports and names of each page."""
    found = {}
    for pattern in PATTERNS:
        for page in sorted(ROOT.glob(pattern)):
            told = _of_page(page.read_text("utf-8"))
            if told and page.name != "CHANGELOG.md":
                found[str(page.relative_to(ROOT))] = told
    return found


def _of_page(text):
    """Return the imports and names of a page, those that fail with their error."""
    imports = {line: partial(exec, line, {}) for line in imports_of(text)}
    names = {name: partial(pkgutil.resolve_name, name) for name in _NAME.findall(text)}
    return [f"{shown}{_fault(attempt)}" for shown, attempt in (imports | names).items()]


def imports_of(text):
    """Return the imports of ours in a page, of one name each."""
    found = []
    for statement in _STATEMENT.findall(text):
        with suppress(SyntaxError):  # Prose, such as "from dpcore convert".
            (node,) = ast.parse(statement.strip()).body
            start = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
            found += [f"{start}import {each.name}" for each in node.names]
    return list(dict.fromkeys(found))


def _fault(attempt):
    try:
        attempt()
    except Exception as error:
        return f": {type(error).__name__}: {error}"
    return ""
