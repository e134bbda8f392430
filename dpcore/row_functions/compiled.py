"""Compiled code of a function of a row, read once more: it calls and keeps nothing."""

from __future__ import annotations

import re

from dpcore.errors import KernelError

__all__ = ["require_pure"]

_FUNCTION = re.compile(r'^define [^\n]*?@("[^"]*"|[^\s(]+)\(.*?^}', re.MULTILINE | re.DOTALL)
_NAME = re.compile(r'@("[^"]*"|[\w.$-]+)')
_CONSTANT = re.compile(r'^@("[^"]*"|[\w.$-]+) =[^\n]*? constant ', re.MULTILINE)
_PURE = re.compile(
    r"llvm\.(fabs|sqrt|copysign|smax|smin|umax|umin|maxnum|minnum|memset|lifetime|assume|masked|"
    r"vector\.reduce|experimental\.noalias)\b|sqrt$"
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
    looked_at = {name for name in bodies if not name.startswith(_WRAPPERS)}
    known = looked_at | {found[1].strip('"') for found in _CONSTANT.finditer(code)}
    for name in looked_at:
        body = bodies[name].partition("\n")[2]
        named = {found.strip('"') for found in _NAME.findall(body)}
        strange = {each for each in named - known if not _PURE.match(each)}
        if strange or _SHARED.search(body) or not body:
            what = min(strange) if strange else "memory that others see"
            raise KernelError(f"The compiled function of a row uses {what}: it is not run.")
    if not looked_at:
        raise KernelError("The compiled function of a row is not found in its code.")
