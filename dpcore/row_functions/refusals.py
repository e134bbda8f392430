"""The refusal of a part of a function of one row: its line, what there is, and what to write."""

import ast
from typing import Any, NoReturn

from dpcore.errors import InvalidInputError
from dpcore.row_functions.forms import FUNCTIONS

__all__ = ["refuse"]

# What to write in the place of syntax of these classes, or of calls of these names.
_HINTS = {
    "write for k in range(100), and break": ("While",),
    "write a loop, for k in range(len(x)); the product of x and w is z of a coefficient": (
        *("dot", "inner", "vdot", "matmul", "MatMult", "sum", "mean", "norm"),
    ),
    "give each number a variable; of arrays there are the arguments alone": (
        *("List", "Tuple", "Dict", "Set", "ListComp", "GeneratorExp", "Subscript"),
        *("zeros", "empty", "ones", "full", "array", "list"),
    ),
    "for an odd row return 0.0, or write nothing": ("Raise", "Assert", "Try"),
    "write for k in range(len(x)), and x[k]": ("For",),
    "nothing is kept between rows": ("Global", "Nonlocal"),
    "write out[k] = a number": ("Return", "append"),
    "write int(a / b)": ("FloorDiv", "floor", "trunc"),
    "write a - b * int(a / b)": ("Mod", "fmod"),
    "write exp(b * log(a))": ("Pow", "pow", "power"),
    "write a if b else c": ("where", "sign"),
    "write min(max(a, low), high)": ("clip", "maximum", "minimum"),
    "write a function of its own, by def": ("Lambda",),
    "import it at the head of the file": ("Import", "ImportFrom"),
}


def refuse(node: Any, what: str, instead: str = "") -> NoReturn:
    """Raise InvalidInputError for a part of a function, with its line, what there is, and what to
    write ``instead``: the hint for its syntax where none is given."""
    part = node.value if isinstance(node, ast.Expr) else node
    called = ast.unparse(getattr(part, "func", ast.Pass())).split(".")[-1]
    there = {called, type(part).__name__, type(getattr(part, "op", None)).__name__}
    hint = instead or next((hint for hint, words in _HINTS.items() if there & {*words}), "")
    hint = f": {hint}" if hint else ""
    raise InvalidInputError(
        f"A function of a row, line {getattr(node, 'lineno', 1)}: it {what}{hint}. It may have "
        "numbers, arithmetic, comparisons, if, for over a range, and "
        f"{', '.join([*FUNCTIONS, 'min', 'max'])}: docs/row-functions.md."
    )
