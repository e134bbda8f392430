"""The grammar of a function of one row, and the code that is made of it.

Whoever writes such a function is not trusted. What is compiled is made here, statement by
statement, of the syntax that this file knows, and anything else is refused. The code has no state,
no loop without a public end, and no way to fail: it names no object, allocates nothing, raises
nothing, and reads and writes within its arrays alone. So its result is a function of its arguments.
Numbers are float64. A place outside an array reads as NaN, and a write to it does nothing.
"""

import ast
import sys
from dataclasses import dataclass, field

from dpcore.row_functions.forms import FUNCTIONS, Form
from dpcore.row_functions.refusals import refuse

__all__ = ["BUILTINS", "Writer"]

BUILTINS = ("min", "max", "float", "int", "len", "range")
_BINARY = {
    ast.Add: "({} + {})",
    ast.Sub: "({} - {})",
    ast.Mult: "({} * {})",
    ast.Div: "over({}, {})",
}
_ORDER = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_MOST_CODE = 20_000
"""Characters of the code of one expression, which a chain of comparisons has parts of twice."""
_MOST_DEPTH = 80
"""Python's own parser takes 200 brackets within each other."""
_MOST_WHOLE = 2**31
_MOST_STEPS, _LENGTH = 2**31, 2**10
"""Steps of loops for a row, those of helpers among them, a length counted as so many: without an
end in sight a row alone could decide whether a run ends, by ``break`` or ``return``."""


@dataclass
class Writer:
    """Writes the code of one function. ``known`` : the functions that it may call, each with the
    number of its arguments; ``known_steps`` : and with the steps that its loops take at most.
    ``steps`` : those of this one, once it is written."""

    tree: ast.FunctionDef
    form: Form
    known: dict[str, int]
    known_steps: dict[str, int]
    ranges: list[str] = field(default_factory=list)
    depth: int = 0
    steps: int = 1
    _times: int = 1
    _ends: dict[str, int] = field(default_factory=dict)

    def lines(self, name: str) -> list[str]:
        """Return the lines of the definition under a name."""
        given = tuple(argument.arg for argument in self.tree.args.args)
        if sorted(given) != sorted(self.form.arguments):
            expected = ", ".join(self.form.arguments)
            refuse(self.tree, f"takes ({', '.join(given)}), where ({expected}) are expected")
        self._variables = {
            target.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign | ast.AugAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        taken = {*self.known, *FUNCTIONS, *BUILTINS}
        if clash := self._variables & {*self.form.arrays}:
            refuse(
                self.tree, f"assigns to {min(clash)!r}, an array", "write to its places: out[k] = a"
            )
        if clash := {*given, *self._variables} & taken:
            refuse(self.tree, f"assigns to {min(clash)!r}, a function's name", "take another name")
        body = self._block(self.tree.body)
        if self.form.written is None and not _always_returns(self.tree.body):
            refuse(self.tree, "does not return a number at its end")
        arguments = [f"v_{name}" for name in self.form.numbers]
        arguments += [f"a_{name}" for name in self.form.arrays]
        head = f"def {name}({', '.join(arguments)}):"
        # Every variable has a value from the start: none is what was left in a register.
        fresh = sorted(self._variables - {*self.form.numbers})
        return [head, *(f"    v_{name} = 0.0" for name in fresh), *body]

    def _block(self, body: list[ast.stmt]) -> list[str]:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            refuse(body[0], f"is nested deeper than {_MOST_DEPTH}")
        found = [line for statement in body for line in self._statement(statement)]
        self.depth -= 1
        return [f"    {line}" for line in found] or ["    pass"]

    def _statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return []
            case ast.Break() | ast.Continue() if self.ranges:
                return ["break" if isinstance(node, ast.Break) else "continue"]
            case ast.Assign(targets=[target]):
                return [self._assignment(target, self._number(node.value))]
            case ast.AugAssign(target=ast.Name() | ast.Subscript() as target):
                before = self._number(target)
                made = _BINARY.get(type(node.op)) or refuse(node, "has another sign than + - * /")
                return [self._assignment(target, made.format(before, self._number(node.value)))]
            case ast.If():
                found = [f"if {self._condition(node.test)}:", *self._block(node.body)]
                return [*found, "else:", *self._block(node.orelse)] if node.orelse else found
            case ast.For(target=ast.Name(id=name), orelse=[]):
                return self._loop(node, name)
            case ast.Return(value=None) if self.form.written is not None:
                return ["return"]
            case ast.Return(value=ast.expr() as value) if self.form.written is None:
                return [f"return {self._number(value)}"]
        refuse(node, f"has a statement that is refused ({type(node).__name__})")

    def _assignment(self, target: ast.expr, value: str) -> str:
        match target:
            case ast.Name(id=name):
                return f"v_{name} = {value}"
            case ast.Subscript(value=ast.Name(id=name)) if name == self.form.written:
                return f"put(a_{name}, {self._whole(target.slice)}, {value})"
        refuse(target, "assigns to something else than a variable or a place of out")

    def _loop(self, node: ast.For, name: str) -> list[str]:
        if name in self._variables or name in self.ranges or name in self.form.arguments:
            refuse(node, f"counts by {name!r}, which is a variable already")
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[_, *more] as ends, keywords=[]) if (
                len(more) < 2
            ):
                bounds = ", ".join(self._whole(end, public=True) for end in ends)
            case _:
                refuse(node, "has a for that is not over range(end) or range(begin, end)")
        self._ends[name] = sum(map(self._size, ends))
        times, self._times = self._times, self._times * max(1, self._ends[name])
        self._take(node, self._times)
        self.ranges.append(name)
        body = self._block(node.body)
        self.ranges.pop()
        self._times = times
        return [f"for i_{name} in range({bounds}):", *body]

    def _take(self, node: ast.AST, steps: int) -> None:
        self.steps += steps
        if self.steps > _MOST_STEPS:
            refuse(node, f"may take more than {_MOST_STEPS:,} steps for one row")

    def _size(self, end: ast.expr) -> int:
        """Return a bound of the size of an end of a range."""
        match end:
            case ast.Constant(value=int() as value):
                return value
            case ast.Name(id=name):
                return self._ends[name]
            case ast.UnaryOp(operand=operand):
                return self._size(operand)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._size(left), self._size(right)
                return min(a * b if isinstance(op, ast.Mult) else a + b, _MOST_WHOLE)
        return _LENGTH

    def _number(self, node: ast.expr) -> str:
        """Return code of type float64."""
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            refuse(node, f"is nested deeper than {_MOST_DEPTH}")
        found = self._number_of(node)
        self.depth -= 1
        if len(found) > _MOST_CODE:
            refuse(node, "has too large an expression")
        return found

    def _number_of(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return _literal(node, value)
            case ast.Name(id=name) if name in self.ranges:
                return f"float(i_{name})"
            case ast.Name(id=name) if name in self._variables or name in self.form.numbers:
                return f"v_{name}"
            case ast.Subscript(value=ast.Name(id=name)) if name in self.form.arrays:
                return f"at(a_{name}, {self._whole(node.slice)})"
            case ast.UnaryOp(op=ast.USub()):
                return f"(-{self._number(node.operand)})"
            case ast.UnaryOp(op=ast.UAdd()):
                return self._number(node.operand)
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() as n)) if 0 <= n <= 64:
                return f"power({self._number(node.left)}, {int(n)})"
            case ast.BinOp() if type(node.op) in _BINARY:
                left, right = self._number(node.left), self._number(node.right)
                return _BINARY[type(node.op)].format(left, right)
            case ast.IfExp():
                test = self._condition(node.test)
                return f"({self._number(node.body)} if {test} else {self._number(node.orelse)})"
            case ast.Compare(ops=ops) if not {*map(type, ops)} <= _ORDER.keys():
                refuse(node, "compares by another sign than < <= > >= == !=")
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return f"(1.0 if {self._condition(node)} else 0.0)"
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(node, name)
        what = ast.unparse(node)[:60]
        if isinstance(node, ast.Name) and node.id in self.form.arrays:
            refuse(node, f"has the array {what}", f"take a place, as {what}[k]")
        if isinstance(node, ast.Name):
            refuse(node, f"has {what}, which is no variable of it and no number outside it")
        refuse(node, f"has an expression that is refused ({what})")

    def _call(self, node: ast.Call, name: str) -> str:
        if name in ("len", "int"):
            return f"float({self._whole(node)})"
        values = [self._number(value) for value in node.args]
        if name == "float" and len(values) == 1:
            return values[0]
        if name in ("min", "max") and len(values) > 1:
            found, *others = values
            for other in others:
                found = f"{name}_of({found}, {other})"
            return found
        if {**FUNCTIONS, **self.known}.get(name) != len(values):
            refuse(node, f"calls {ast.unparse(node)[:60]}, which it cannot")
        self._take(node, self._times * self.known_steps.get(name, 0))
        return f"{'f_' if name in self.known else 'm_'}{name}({', '.join(values)})"

    def _condition(self, node: ast.expr) -> str:
        match node:
            case ast.Compare() if all(type(op) in _ORDER for op in node.ops):
                values = [self._number(value) for value in (node.left, *node.comparators)]
                pairs = zip(values, node.ops, values[1:], strict=False)
                return f"({' and '.join(f'{a} {_ORDER[type(op)]} {b}' for a, op, b in pairs)})"
            case ast.BoolOp():
                joint = " and " if isinstance(node.op, ast.And) else " or "
                return f"({joint.join(map(self._condition, node.values))})"
            case ast.UnaryOp(op=ast.Not()):
                return f"(not {self._condition(node.operand)})"
        return f"({self._number(node)} != 0.0)"

    def _whole(self, node: ast.expr, public: bool = False) -> str:
        """Return code of type int64, for a place in an array or the end of a range: ``public``
        where it must not depend on the row."""
        match node:
            case ast.Constant(value=int() as value) if type(value) is int and value < _MOST_WHOLE:
                return repr(value)
            case ast.Name(id=name) if name in self.ranges:
                return f"i_{name}"
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]) if (
                name in self.form.arrays
            ):
                return f"held(a_{name}.shape[0])"
            case ast.Attribute(value=ast.Name(id=name), attr="size") if name in self.form.arrays:
                return f"held(a_{name}.shape[0])"
            case ast.UnaryOp(op=ast.USub()):
                return f"(-{self._whole(node.operand, public)})"
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
                left, right = self._whole(node.left, public), self._whole(node.right, public)
                return f"held{_BINARY[type(node.op)].format(left, right)}"
            case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]) if not public:
                return f"whole({self._number(value)})"
            case ast.IfExp() if not public:
                taken, other = self._whole(node.body), self._whole(node.orelse)
                return f"({taken} if {self._condition(node.test)} else {other})"
        what = ast.unparse(node)[:60]
        if public:
            end = "the end of a range is a literal, len(x), written out, or made of these by + - *"
            refuse(node, f"counts to {what}", end)
        self._number(node)  # refuses what is no number at all
        refuse(node, f"has {what} as a place in an array", f"write int({what}) or a whole number")


def _literal(node: ast.expr, value: float) -> str:
    if not abs(value) <= sys.float_info.max:
        refuse(node, "has a number that is not finite")
    return repr(float(value))


def _always_returns(body: list[ast.stmt]) -> bool:
    """Return whether no way through these statements falls off their end."""
    match body[-1]:
        case ast.Return():
            return True
        case ast.If(body=taken, orelse=[_, *_] as other):
            return _always_returns(taken) and _always_returns(other)
    return False
