"""Mutants: single expressions of the project's code, each with a wrong one in its place.

A mutant is named by its function and the expression's source text, without a path or a line, so
that it survives a move of its function to another file. Each ``*.toml`` file beside this one is a
room: ``tests``, the paths of the tests that are to fail, and ``[[mutants]]`` with the keys of
``Mutant``.
"""

import ast
import hashlib
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_TOP_LEVEL = re.compile(r"^(?:(?:def|class) )?(\w+)\b(?=\s*[(:=])", re.MULTILINE)


class StaleMutantError(Exception):
    """A mutant whose function or expression is not there, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """One wrong expression.

    Parameters
    ----------
    function : its name with that of its class, ``Class.method``; a class or a constant of a module
        likewise.
    expression : found once in it, up to the layout of the source.
    becomes : another expression.
    kind : what is wrong with it, in a few words.
    beside : another name of the same module, where two modules have such a function.
    survives : why no test can tell it, of a mutant that no test tells.
    """

    room: str
    function: str
    expression: str
    becomes: str
    kind: str
    beside: str | None = None
    survives: str | None = None

    @property
    def key(self) -> str:
        """A name for the journal, which a move leaves as it is."""
        text = "\n".join((self.function, self.expression, self.becomes))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.room} {self.function}: {self.expression} -> {self.becomes} ({self.kind})"


@dataclass(frozen=True)
class Mutated:
    """The file of a mutant, its text with the wrong expression, and of this text the statement at
    the module's level that holds the expression."""

    path: Path
    text: str
    statement: str


def rooms() -> dict[str, list[str]]:
    """Return the paths of each room's tests."""
    return {room: [*content["tests"]] for room, content in _files().items()}


def mutants() -> list[Mutant]:
    """Return all mutants, room by room."""
    return [
        Mutant(room=room, **entry)
        for room, content in _files().items()
        for entry in content["mutants"]
    ]


def _files() -> dict[str, dict[str, Any]]:
    paths = sorted(Path(__file__).parent.glob("*.toml"))
    return {path.stem: tomllib.loads(path.read_text()) for path in paths}


def mutated(mutant: Mutant, root: Path = ROOT) -> Mutated:
    """Return the mutant's file with its wrong expression.

    Raises StaleMutantError, unless function and expression are found exactly once.
    """
    path, top, nodes = _defined(mutant, root)
    wanted = ast.parse(mutant.expression, mode="eval").body
    dumped = ast.dump(wanted)
    inside = (each for node in nodes for each in ast.walk(node) if type(each) is type(wanted))
    found = [each for each in inside if ast.dump(each) == dumped]
    if len(found) != 1:
        raise StaleMutantError(f"{mutant}: the expression is found {len(found)} times.")
    text = path.read_text()
    begin, end = _span(text, found[0])
    replaced = f"({mutant.becomes})"
    whole = text.encode()
    if ast.dump(ast.parse(f"({whole[begin:end].decode()})", mode="eval").body) != dumped:
        raise StaleMutantError(f"{mutant}: the place of the expression cannot be told.")
    new = whole[:begin] + replaced.encode() + whole[end:]
    first, last = _lines(top)
    more = new.count(b"\n") - whole.count(b"\n")
    statement = b"".join(new.splitlines(keepends=True)[first - 1 : last + more])
    return Mutated(path, new.decode(), statement.decode())


def _defined(mutant: Mutant, root: Path) -> tuple[Path, Any, list[Any]]:
    """Return file, statement at the module's level and definitions of what the mutant names."""
    first, *rest = mutant.function.split(".")
    found = []
    for path in _index(root)[first]:
        if mutant.beside is not None and path not in _index(root)[mutant.beside]:
            continue
        for top in _tree(path).body:
            nodes: list[Any] = [top] if first in _names(top) else []
            for name in rest:  # overloads of one name are one function
                inside = [each for node in nodes for each in getattr(node, "body", ())]
                nodes = [each for each in inside if name in _names(each)]
            if nodes:
                found.append((path, top, nodes))
    if len(found) != 1:
        places = ", ".join(str(path.relative_to(root)) for path, _, _ in found) or "nowhere"
        raise StaleMutantError(f"{mutant}: the function is found in: {places}.")
    return found[0]


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return [statement.name]
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def _index(root: Path) -> dict[str, list[Path]]:
    """Return the files of the core and of the plugins that have a name at their level."""
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in (root / "dpcore", *sorted((root / "plugins").glob("*/dpcore_*"))):
        for path in sorted(folder.rglob("*.py")):
            for name in {match[1] for match in _TOP_LEVEL.finditer(path.read_text())}:
                found[name].append(path)
    return found


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _span(text: str, node: Any) -> tuple[int, int]:
    """Return where an expression begins and ends, in bytes."""
    lengths = [len(line) for line in text.encode().splitlines(keepends=True)]
    begin = sum(lengths[: node.lineno - 1]) + node.col_offset
    return begin, sum(lengths[: node.end_lineno - 1]) + node.end_col_offset


def _lines(statement: Any) -> tuple[int, int]:
    decorators = getattr(statement, "decorator_list", ())
    return min(part.lineno for part in (statement, *decorators)), statement.end_lineno
