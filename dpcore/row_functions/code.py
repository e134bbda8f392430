"""The code that is compiled of the text of a function of one row."""

import ast

from dpcore.errors import InvalidInputError, replacing
from dpcore.row_functions.forms import FORMS, FUNCTIONS, Form
from dpcore.row_functions.grammar import BUILTINS, Writer
from dpcore.row_functions.refusals import refuse

__all__ = ["MOST_HELPERS", "code_of", "code_of_tree"]

_MOST_CODE = 100_000
"""Characters of the code of a function, with the code of each function that it calls in the place
of the call: so it is compiled."""
MOST_HELPERS = 50


def code_of(text: str, form: str) -> str:
    """Return Python code that defines ``row``, which has the form's arguments, and what it calls.

    Parameters
    ----------
    text : definitions of functions, each of numbers and of those above it alone; the last one is
        the function of a row.
    form : of ``FORMS``.

    Raises InvalidInputError, with the line, for what the grammar does not have.
    """
    if len(text) > _MOST_CODE:
        raise InvalidInputError(f"A function of a row has {_MOST_CODE:,} characters at most.")
    with replacing(SyntaxError, RecursionError, MemoryError, ValueError, by=_no_python):
        tree = ast.parse(text)
    return code_of_tree(tree, form)


def code_of_tree(module: ast.Module, form: str) -> str:
    """Return the same of a text that was parsed."""
    with replacing(SyntaxError, RecursionError, MemoryError, by=_no_python):
        code = _written(module, form)
        compile(code, "<function of a row>", "exec")
        return code


def _no_python(error: Exception) -> InvalidInputError:
    return InvalidInputError(f"A function of a row is no Python that can be compiled: {error}.")


def _written(module: ast.Module, form: str) -> str:
    if not module.body:
        refuse(module, "has no function")
    *helpers, last = map(_definition, module.body)
    if len(helpers) > MOST_HELPERS:
        refuse(last, f"calls more than {MOST_HELPERS} functions")
    known: dict[str, int] = {}
    sizes: dict[str, int] = {}
    steps: dict[str, int] = {}
    codes = []
    for each in (*helpers, last):
        if each.name in known:
            refuse(each, f"defines {each.name!r} twice")
        numbers = tuple(argument.arg for argument in each.args.args)
        is_last = each is last
        taken = FORMS[form] if is_last else Form(numbers, ())
        name = "row" if is_last else f"f_{each.name}"
        writer = Writer(each, taken, known, steps)
        code = "\n".join(writer.lines(name))
        body = code.partition("\n")[2]
        # By text: a name may have characters that a pattern takes for none of it.
        called = sum(size * body.count(f"f_{other}(") for other, size in sizes.items())
        sizes[each.name] = len(code) + called
        if sizes[each.name] > _MOST_CODE:
            refuse(each, "makes too much code")
        known[each.name], steps[each.name] = len(numbers), writer.steps
        codes.append(code)
    return "\n".join(codes) + "\n"


def _definition(node: ast.stmt) -> ast.FunctionDef:
    if not isinstance(node, ast.FunctionDef):
        refuse(node, "is no definition of a function")
    taken = node.args
    if taken.vararg or taken.kwarg or taken.kwonlyargs or taken.posonlyargs or taken.defaults:
        refuse(node, "takes other arguments than plain ones without a default")
    if node.decorator_list:
        refuse(node, "has a decorator")
    if node.name in (*FUNCTIONS, *BUILTINS):
        refuse(node, f"defines {node.name!r}, which the grammar has")
    return node
