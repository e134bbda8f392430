"""A function of one row, as a part of a query: compiled by the core, and a function of that row
alone."""

import ast
import hashlib
import re
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numba
import numpy as np

from dpcore.errors import InvalidInputError, KernelError, replacing
from dpcore.exact.compiled import KernelCache, Unkept, source_digest
from dpcore.exact.plain import cached_by_number
from dpcore.privacy.immutable import sealed
from dpcore.row_functions import code, compiled, functions, grammar
from dpcore.row_functions.code import code_of, code_of_tree
from dpcore.row_functions.compiled import require_pure
from dpcore.row_functions.forms import FORMS
from dpcore.row_functions.source import tree_of

__all__ = ["RowFunction"]

_REMEDIES = {
    "out": "state the query's width as more, or write to out[len(out) - 1], the last",
    "parameters": "give the query as many parameters",
    "x": "the table has no more features; the last is x[len(x) - 1]",
}

_LEAST, _ONE, _TINY = 2.2250738585072014e-308, 1.0, 2.0**-60
_TOO_DEEP = "A function of a row calls too many functions within each other to be compiled here."
_ROOM = 10
"""Calls deep, beside those of helpers within each other: the loop, the row, and a number's."""


@sealed
@dataclass(frozen=True, slots=True)
class RowFunction:
    """A function of one row, made of a Python function by ``coefficient``, ``contribution`` or
    ``weight``.

    Its text is read by the grammar and compiled by the core (``dpcore.row_functions.grammar``), so
    that a result depends on its arguments alone: nothing is kept between rows, whoever wrote it.

    Parameters
    ----------
    text : the definition of the function, below those that it calls.
    form : ``"coefficient"`` or ``"weight"``, of arguments z, y, parameters, which return a number;
        or ``"contribution"``, of x, y, parameters, out, which writes numbers to out.

    Raises InvalidInputError for what the grammar does not have.

    Examples
    --------
    >>> from dpcore.plugin.parts import RowFunction
    >>> RowFunction("def twice(z, y, parameters): return 2.0 * z", "coefficient").form
    'coefficient'
    """

    text: str
    form: str

    def __post_init__(self) -> None:
        if type(self.text) is not str or type(self.form) is not str or self.form not in FORMS:
            raise InvalidInputError(f"Expected a text and one of {[*FORMS]}.")
        _code(self.text, self.form)

    @staticmethod
    def coefficient(function: Any) -> "RowFunction":
        """Return the row function of a Python function ``(z, y, parameters)``, a factor for each
        row.

        The row's features are multiplied by the number that it returns for the margin z and label
        y.

        Raises InvalidInputError, with the line, for what a function of a row cannot do.

        Examples
        --------
        >>> from dpcore.plugin.parts import RowFunction
        >>> def slope(z, y, parameters):
        ...     return -y if y * z < parameters[0] else 0.0
        >>> print(RowFunction.coefficient(slope).text)
        def slope(z, y, parameters):
            return -y if y * z < parameters[0] else 0.0
        """
        return _made(function, "coefficient")

    @staticmethod
    def contribution(function: Any) -> "RowFunction":
        """Return the row function of a Python function ``(x, y, parameters, out)``, a vector for
        each row.

        It writes to ``out`` what a row of features x and label y contributes to a sum.

        Raises InvalidInputError, with the line, for what a function of a row cannot do.

        Examples
        --------
        >>> from dpcore.plugin.parts import RowFunction
        >>> def halves(x, y, parameters, out):
        ...     out[0 if x[0] < 0.5 else 1] = 1.0
        >>> RowFunction.contribution(halves).form
        'contribution'
        """
        return _made(function, "contribution")

    @staticmethod
    def weight(function: Any) -> "RowFunction":
        """Return the row function of a Python function ``(z, y, parameters)``, a weight for each
        row.

        The row's product x x' is multiplied by the number that it returns for the margin z and
        label y.

        Raises InvalidInputError, with the line, for what a function of a row cannot do.

        Examples
        --------
        >>> from dpcore.plugin.parts import RowFunction
        >>> def near(z, y, parameters):
        ...     return 1.0 if abs(z) < parameters[0] else 0.0
        >>> RowFunction.weight(near).form
        'weight'
        """
        return _made(function, "weight")

    def fill(
        self, rows: np.ndarray, y: np.ndarray, parameters: np.ndarray, out: np.ndarray
    ) -> None:
        """Write what it makes of each row to ``out``, float64 in C order as all of these.

        Parameters
        ----------
        rows : of a coefficient or weight the margins, of shape (n_rows,); of a contribution the
            features, of shape (n_rows, n_features).
        y : labels, of shape (n_rows,). ``parameters`` : public numbers, one after the other.
        out : of shape (n_rows,), or, of a contribution, (n_rows, width).

        Raises KernelError where the function cannot be compiled, or arrays have other lengths.
        """
        _require_usual_numbers()
        if not len(rows) == len(y) == len(out):
            raise KernelError("Expected a label and a place of out for each row.")
        # Of Python's own texts alone: others are made such, or refused, where a loop is compiled.
        loop = (
            type(text := self.text) is type(form := self.form) is str and _LOOPS.get((text, form))
        ) or _loop(text, form)
        if isinstance(loop, FunctionType):  # without the compiler
            _require_room(code.MOST_HELPERS + _ROOM)
        loop(rows, y, parameters, out)

    def require_compiled(self) -> None:
        """Compile it, or load what was compiled; KernelError where neither can be had, or where
        this thread has other numbers than float64."""
        _require_usual_numbers()  # First: what is compiled is kept for other processes.
        _loop(self.text, self.form)

    def require_places(self, **sizes: int) -> None:
        """Raise InvalidInputError for a place, written as a number, that an array of these sizes
        does not have. Nothing would be read or written there."""
        for array, place in _places(self.text):
            if not 0 <= place < sizes[array]:
                raise InvalidInputError(
                    f"The function of a row names {array}[{place}], and {array} has "
                    f"{sizes[array]} numbers here, from {array}[0]: {_REMEDIES[array]}."
                )


def _made(function: Any, form: str) -> RowFunction:
    tree = tree_of(function)
    code_of_tree(tree, form)  # which names the line in its file
    return RowFunction(ast.unparse(tree), form)


def _require_usual_numbers() -> None:
    """Raise KernelError where the processor rounds otherwise in this thread than by IEEE 754: a
    library that was built for speed may have had it flush small numbers to 0, in the thread alone
    that loaded it. What a row contributes would depend on the thread that it falls to."""
    if _LEAST * 0.5 == 0.0 or not _ONE + _TINY == _ONE == _ONE - _TINY:
        raise KernelError(
            "A library of this process changed how its thread computes (small numbers become 0, or "
            "it rounds in another direction): a function of a row is not run. Import it later, or "
            "in another process."
        )


def _require_room(depth: int) -> None:
    """Raise RecursionError, whatever the rows are, unless so many calls fit on Python's stack: some
    rows may need all of them."""
    if depth:
        _require_room(depth - 1)


@cached_by_number(maxsize=256)
def _code(text: str, form: str) -> str:
    return code_of(text, form)


@cached_by_number(maxsize=256)
def _places(text: str) -> list[tuple[str, int]]:
    """Return the places of arrays that are written as numbers, each after the array's name."""
    return [
        (ast.unparse(node.value), int(ast.unparse(node.slice)))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Subscript) and re.fullmatch(r"-?\d+", ast.unparse(node.slice))
    ]


class _RowCache(KernelCache):
    """The cache of one loop, whose key has the code that was compiled."""

    def __init__(self, loop: Any, text: str) -> None:
        files = (module.__file__ for module in (code, compiled, functions, grammar))
        super().__init__(loop, *map(source_digest, files))
        self._digest = hashlib.sha256(text.encode()).hexdigest()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # In the place of a digest of what the loop's closure holds, which differs by process.
        return sig, codegen.magic_tuple(), self._digest

    def save_overload(self, sig: Any, data: Any) -> None:
        require_pure(data.library.get_llvm_str())
        super().save_overload(sig, data)


class _Unkept(Unkept):
    """The cache of a loop that is kept in memory alone."""

    def save_overload(self, sig: Any, cres: Any) -> None:
        require_pure(cres.library.get_llvm_str())
        super().save_overload(sig, cres)


# What was compiled. The cache below counts who asks: each block does, and the rows are private.
_LOOPS: dict[tuple[str, str], Any] = {}


@cached_by_number(maxsize=256)
def _loop(text: str, form: str) -> Any:
    """Return the loop over rows, compiled; the functions themselves without the compiler."""
    made = _code(text, form)
    scope: dict[str, Any] = {**functions.NAMES, "__builtins__": {"float": float, "range": range}}
    exec(compile(made, f"<{form} of a row>", "exec"), scope)  # noqa: S102  (the grammar's own code)
    own = [name for name in scope if name.startswith("f_") or name == "row"]
    scope |= {name: numba.njit(**functions.OPTIONS)(scope[name]) for name in own}
    make, dimensions = (_contributions, 2) if FORMS[form].written else (_coefficients, 1)
    loop = make(scope["row"])
    kernel = numba.njit(**{**functions.OPTIONS, "nogil": True, "forceinline": False})(loop)
    if kernel is loop:  # without the compiler
        return _LOOPS.setdefault((text, form), np.errstate(all="ignore")(loop))
    _compile(kernel, loop, made, dimensions)
    return _LOOPS.setdefault((text, form), kernel)


def _compile(kernel: Any, loop: Any, text: str, dimensions: int) -> None:
    """Compile a loop, or load it, and hold what was compiled to what it may do."""
    try:
        kernel._cache = _RowCache(loop, text)
    except RuntimeError:  # what numba raises where it finds no folder to write to
        kernel._cache = _Unkept()
    vector = numba.types.Array(numba.float64, 1, "C", readonly=True)
    rows = numba.types.Array(numba.float64, dimensions, "C", readonly=True)
    out = numba.types.Array(numba.float64, dimensions, "C")
    with replacing(RecursionError, by=lambda _: KernelError(_TOO_DEEP)):
        kernel.compile((rows, vector, vector, out))
    kernel.disable_compile()


def _coefficients(row: Any) -> Any:
    def coefficients(z: np.ndarray, y: np.ndarray, parameters: np.ndarray, out: np.ndarray) -> None:
        for i in range(out.shape[0]):
            out[i] = row(z[i], y[i], parameters)

    return coefficients


def _contributions(row: Any) -> Any:
    def contributions(
        x: np.ndarray, y: np.ndarray, parameters: np.ndarray, out: np.ndarray
    ) -> None:
        for i in range(out.shape[0]):
            for k in range(out.shape[1]):
                out[i, k] = 0.0
            row(y[i], x[i], parameters, out[i])

    return contributions
