"""Compiled code of a function of a row, read once more: it calls and keeps nothing."""

import re

from dpcore.errors import KernelError

__all__ = ["require_pure"]

_FUNCTION = re.compile(r'^define [^\n]*?@("[^"]*"|[^\s(]+)\(.*?^}', re.MULTILINE | re.DOTALL)
_NAME = re.compile(r'@("[^"]*"|[\w.$-]+)')
_CONSTANT = re.compile(r'^@("[^"]*"|[\w.$-]+) =[^\n]*? constant ', re.MULTILINE)
_PURE = re.compile(
    r"llvm\.((u|s)(add|sub|mul)\.(with\.overflow|sat)|abs|assume|copysign|ctlz|ctpop|cttz|"
    r"experimental\.(noalias|cttz)|fabs|floor|fpto[su]i\.sat|fsh[lr]|is\.fpclass|lifetime|masked|"
    r"max(imum|num)|memset|min(imum|num)|smax|smin|sqrt|trunc|umax|umin|vector\.reduce)\b|sqrt$"
)
"""Intrinsics of numbers and of memory that they are given, and the root, which IEEE 754 rounds."""
_SHARED = re.compile(r"\b(atomicrmw|cmpxchg|fence|volatile|inttoptr|asm|indirectbr|invoke)\b")
_WRAPPERS = ("_ZN7cpython", "cfunc.", "NRT_")


def require_pure(code: str) -> None:
    """Raise KernelError unless optimised LLVM code calls nothing from outside itself and names no
    global that can be written.

    ``code`` : of a module that numba made. What hands Python's objects over is not looked at: it
    runs before and after the loop.
    """
    bodies = {found[1].strip('"'): found[0] for found in _FUNCTION.finditer(code)}
    looked_at = [name for name in bodies if not name.startswith(_WRAPPERS)]
    if len(looked_at) != 1:
        raise KernelError("A function of a row is not one piece of code: it is not run.")
    # Another function would have a name, for which the linker takes what has it already.
    body = bodies[looked_at[0]].partition("\n")[2]
    named = {found.strip('"') for found in _NAME.findall(body)}
    known = {found[1].strip('"') for found in _CONSTANT.finditer(code)}
    strange = {each for each in named - known if not _PURE.match(each)}
    if strange or _SHARED.search(body) or not body:
        what = min(strange) if strange else "memory that others see"
        raise KernelError(f"The compiled function of a row uses {what}: it is not run.")
