"""Registrations of others with numba and LLVM, whose compiler all kernels of a process share.

numba lets anyone register how an operation is typed, and which machine code it becomes
(``numba.extending``); llvmlite, which address a name is linked to (``add_symbol``). A clip that was
compiled with another ``abs`` bounds nothing. So whoever had registered something when a kernel was
compiled is kept by name for the privacy statement, and the kernel for no other process.
"""

import ctypes
import gc
import os
import sys
from functools import partial
from itertools import chain
from types import CellType, FunctionType, MethodType
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba._helperlib import c_helpers  # type: ignore[attr-defined]
from numba.core.rewrites import rewrite_registry
from numba.core.typing.templates import AttributeTemplate, FunctionTemplate
from numba.core.typing.typeof import typeof_impl

from dpcore.exact.plain import REGISTERED_BY_OTHERS

__all__ = ["foreign_registrations", "note_registrations"]

_FOLDERS = tuple(f"{os.path.dirname(str(of.__file__))}{os.sep}" for of in (numba, llvmlite, np))
_PYTHON = f"{os.path.dirname(os.__file__)}{os.sep}"
_HOLDERS = (tuple, list, dict, CellType, staticmethod, classmethod, MethodType, partial)
_LINKED = {
    name: {None, *(ctypes.cast(of, ctypes.c_void_p).value for of in (known, c_helpers.get(name)))}
    for name in (
        "ceil floor fma fmax fmin fmod memcpy memmove memset nearbyint rint round sqrt trunc "
        "PyArg_UnpackTuple PyBool_FromLong PyBytes_FromStringAndSize PyErr_Clear PyErr_Occurred "
        "PyErr_SetNone PyErr_SetString PyErr_WriteUnraisable PyEval_RestoreThread "
        "PyEval_SaveThread PyFloat_AsDouble PyLong_AsLongLong PyLong_AsUnsignedLongLong "
        "PyLong_FromLongLong PyLong_FromUnsignedLongLong PyNumber_Float PyNumber_Long "
        "PyObject_IsTrue PyTuple_New PyTuple_SetItem PyUnicode_FromString Py_DecRef Py_IncRef"
    ).split()
    if (known := getattr(ctypes.pythonapi, name, None))
} | {f"numba_{name}": {None, of} for name, of in c_helpers.items()}
"""Functions of C that LLVM may call where a processor has no instruction for them, and those by
which numba takes what it is given, and where they are: nowhere yet, in this process's library, or
in numba's."""


def note_registrations(*made: Any) -> bool:
    """Note what others registered, for the privacy statement; return whether there is nothing.

    ``made`` : numba's ``CompileResult`` of a kernel, whose contexts are looked at. Without one, it
    is only looked at what compiled code is linked to.
    """
    at = llvmlite.binding.address_of_symbol
    found = {f"llvmlite.binding:{name}" for name, own in _LINKED.items() if at(name) not in own}
    for each in made:
        found |= foreign_registrations(each.target_context, each.typing_context)
    REGISTERED_BY_OTHERS.update(found)
    return not found


def foreign_registrations(target: Any, typing: Any) -> set[str]:
    """Return ``"module:name"`` of all functions and templates that are not numba's, among those
    that its compiler chooses from, and those in their closures.

    ``target``, ``typing`` : the contexts of its compiler, which hold what was registered.
    """
    lowered = map(dict.values, (target._defns, target._getattrs, target._setattrs))
    chosen = chain(*lowered, (target._casts, target._get_constants))
    templates = chain(*typing._functions.values(), *typing._attributes.values())
    named = [getattr(each, "templates", ()) for each in typing._globals.values()]
    waiting = [rewrite_registry.rewrites, dict(typeof_impl.registry), *map(type, templates)]
    waiting += [
        *named,
        *(each.versions for each in chosen),
        *target.data_model_manager._handlers.values(),
    ]
    seen: dict[int, Any] = {}
    while waiting:
        if id(thing := waiting.pop()) not in seen:
            seen[id(thing)] = thing
            waiting += _held(thing)
    return {f"{of.__module__}:{of.__qualname__}" for of in seen.values() if not _is_known(of)}


def _held(thing: Any) -> list[Any]:
    if isinstance(thing, FunctionType):
        return [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
    if isinstance(thing, type):  # Not the function that a template is of: it may be anybody's.
        return [*{**vars(thing), "key": None, "typing_key": None}.values(), *thing.__bases__]
    return gc.get_referents(thing) if isinstance(thing, _HOLDERS) else [type(thing)]


def _is_known(thing: Any) -> bool:
    """Return whether a function or a template is of a file of numba's, or of what it is built on:
    the names that a function sees are those of a module. All else makes no code."""
    if isinstance(thing, FunctionType):
        names = thing.__globals__
    elif isinstance(thing, type) and {AttributeTemplate, FunctionTemplate} & {*thing.__mro__}:
        # Not issubclass(), which asks every template that numba ever made, for seconds.
        names = vars(sys.modules.get(thing.__module__, sys))
    else:
        return True
    spec: Any = names.get("__spec__")
    origin = (vars(sys.modules.get(getattr(spec, "name", ""), os)) is names and spec.origin) or ""
    is_pythons = origin.startswith(_PYTHON) and "-packages" not in origin
    return origin in ("built-in", "frozen") or is_pythons or origin.startswith(_FOLDERS)
