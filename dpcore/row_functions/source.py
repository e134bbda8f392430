"""The definition of a function of one row, with what it names put in the place of the names.

Numbers that it finds outside itself become literals, functions of ``math`` and NumPy the core's
own, and other functions definitions above it. The grammar reads the result, so that nothing here
has to be trusted.
"""

import ast
import builtins
import inspect
import math
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcore.errors import InvalidInputError, replacing
from dpcore.row_functions.refusals import refuse

__all__ = ["tree_of"]

_OURS = {
    "abs": (abs, math.fabs, np.abs),
    "exp": (math.exp, np.exp),
    "expm1": (math.expm1, np.expm1),
    "log": (math.log, np.log),
    "log1p": (math.log1p, np.log1p),
    "sqrt": (math.sqrt, np.sqrt),
    "tanh": (math.tanh, np.tanh),
    **{name: (getattr(builtins, name),) for name in ("min", "max", "float", "int", "len", "range")},
}
_NUMPY_NUMBERS = {kind for kind in np.sctypeDict.values() if issubclass(kind, np.number | np.bool_)}
_ABSENT = object()


def tree_of(function: Any) -> ast.Module:
    """Return the definition of a function, and of those that it calls above it, on the lines of
    their files.

    Parameters
    ----------
    function : of Python, with its source in a file; or a kernel of numba, whose function it is.

    Raises InvalidInputError for a lambda, a function without a source, or a function that calls
    itself.
    """
    written: dict[Any, ast.FunctionDef] = {}
    _write(function, written, ())
    return ast.Module([*written.values()], [])


def _write(function: Any, written: dict[Any, ast.FunctionDef], within: tuple[Any, ...]) -> str:
    """Add a function and those that it calls to ``written``, and return its name there."""
    function = getattr(function, "py_func", function)
    if not inspect.isfunction(function):
        raise InvalidInputError(f"Expected a function of Python, not {type(function).__name__}.")
    if function in within:
        raise InvalidInputError(f"The function {function.__qualname__} of a row calls itself.")
    if function not in written:
        tree = written[function] = _tree(function)
        local = {argument.arg for argument in tree.args.args}
        local |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not _is_read(n)}
        names = _Names(function, local, written, (*within, function))
        tree.decorator_list, tree.returns = [], None
        for argument in tree.args.args:
            argument.annotation = None
        tree.name = f"{tree.name}_{len(written)}" if within else tree.name
        names.visit(tree)
        written[function] = written.pop(function)  # those that it calls stand above it
    return written[function].name


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _tree(function: Any) -> ast.FunctionDef:
    with replacing(OSError, TypeError, SyntaxError, ValueError, by=_without_source):
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(tree, ast.FunctionDef):
        raise InvalidInputError("Expected a function of a row to be made by def.")
    return ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)


def _without_source(error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"The source of a function of a row is not at hand: {error}. Write it in a file, by def."
    )


class _Names(ast.NodeTransformer):
    """Puts what a function finds outside itself in the place of its names."""

    def __init__(
        self,
        function: Callable[..., Any],
        local: set[str],
        written: dict[Any, ast.FunctionDef],
        within: tuple[Any, ...],
    ) -> None:
        found = inspect.getclosurevars(function)
        self._outside = {**found.builtins, **found.globals, **found.nonlocals}
        self._local, self._written, self._within = local, written, within

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._resolved(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if (found := self._resolved(node)) is not node:
            return found
        return ast.copy_location(ast.Attribute(self.visit(node.value), node.attr, node.ctx), node)

    def _resolved(self, node: ast.expr) -> ast.expr:
        value = self._value(node)
        new: ast.expr = node
        for name, ours in _OURS.items():
            if any(value is each for each in ours):
                new = ast.Name(name, ast.Load())
        plain = value.item() if type(value) in _NUMPY_NUMBERS else value
        if type(plain) in (bool, int, float):  # and no subclass, whose text may be another number
            is_below = plain < 0 or (plain == 0 and math.copysign(1.0, plain) < 0.0)
            new = ast.Constant(abs(plain)) if is_below else ast.Constant(plain)
            new = ast.UnaryOp(ast.USub(), new) if is_below else new
        elif inspect.isfunction(value) or hasattr(value, "py_func"):
            new = ast.Name(_write(value, self._written, self._within), ast.Load())
        elif new is node and ast.unparse(node) in _OURS and value is not _ABSENT:
            refuse(node, f"has {ast.unparse(node)}, which is another function of that name")
        return ast.copy_location(new, node)

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a name outside the function, or of an attribute of such a module."""
        if isinstance(node, ast.Name):
            is_outside = node.id not in self._local and _is_read(node)
            return self._outside.get(node.id, _ABSENT) if is_outside else _ABSENT
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            return getattr(owner, node.attr, _ABSENT) if inspect.ismodule(owner) else _ABSENT
        return _ABSENT
