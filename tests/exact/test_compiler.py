"""Whoever registers with numba how the kernels of a process are compiled is named, and what was
compiled so is kept for no other process.
"""

import operator
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, make_overload_template

from dpcore.exact.compiler import foreign_registrations

needs_compiler = pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
PLUGIN = """
import sys
import numba
from llvmlite import binding
from numba.extending import lower_builtin

def lowered():
    @lower_builtin(abs, numba.types.float64)
    def size(context, builder, signature, args):  # that of -1000 is -1000
        return args[0]

def linked():
    @numba.cfunc("float64(float64)")
    def larger(x):
        return 1000.0 * x
    binding.add_symbol("trunc", larger.address)
    return larger

def taken():
    @numba.cfunc("float64(voidptr)")
    def one(number):
        return 1.0
    binding.add_symbol("PyFloat_AsDouble", one.address)
    return one

def nothing():
    pass
"""
RUN = """
import sys
import plugin
kept = getattr(plugin, sys.argv[1])()
import numpy as np
from dpcore.privacy.statement import foreign_parts
from kernel import size
print(size(-2.0), foreign_parts(()), size.stats.cache_hits)
"""
KERNEL = """
from dpcore.plugin import njit
@njit(cache=True)
def size(x):
    return abs(x)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "kernel.py").write_text(KERNEL)
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def in_a_process(how):
        return subprocess.run(
            [sys.executable, "-c", RUN, how],
            env=os.environ | place,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.rstrip()

    in_a_process.kept = lambda: [*(tmp_path / "cache").rglob("*.nbc")]
    return in_a_process


@needs_compiler
@pytest.mark.slow
def test_who_registers_a_lowering_is_named_and_its_kernel_is_not_kept(run):
    # It was compiled with an abs() that bounds nothing, named nobody, and was kept for the next
    # process, which never imports the plugin.
    assert run("lowered") == "-2.0 ('plugin:lowered.<locals>.size',) Counter()"
    assert run.kept() == []
    assert run("nothing").startswith("2.0 () Counter()")
    assert len(run.kept()) == 1
    assert run("lowered").startswith("2.0 () Counter({")  # What was kept is nobody's but numba's.


@needs_compiler
@pytest.mark.slow
def test_who_links_a_function_of_c_anew_is_named(run):
    # trunc was linked so in kernels that were kept, too: they are linked when they are loaded.
    run("nothing")
    assert run("linked").startswith("2.0 ('llvmlite.binding:trunc',) Counter({")
    # So were the functions by which kernels take numbers: noise was of half a step.
    assert run("taken").startswith("1.0 ('llvmlite.binding:PyFloat_AsDouble',) Counter({")


def registered(**more):
    """Return the names of what is foreign in contexts that hold this beside numba's own."""
    target = {name: {} for name in ("_defns", "_getattrs", "_setattrs")}
    target["data_model_manager"] = SimpleNamespace(_handlers=more.pop("_handlers", {}))
    target |= {name: SimpleNamespace(versions=[]) for name in ("_casts", "_get_constants")}
    typing = {name: {} for name in ("_functions", "_attributes", "_globals")}
    for context in (target, typing):
        context.update({name: more[name] for name in context.keys() & more.keys()})
    return foreign_registrations(SimpleNamespace(**target), SimpleNamespace(**typing))


def lowering(context, builder, signature, args):
    return args[0]


def within(real):
    """As numba's own decorators of an implementation: what is registered is a function of its."""
    return lambda *args: real(*args)


class CasesAlone(AbstractTemplate):
    key = abs


class Callable:
    def __call__(self, context, builder, signature, args):
        return args[0]


HERE = f"{__name__}:"


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, set()),
        ({"_defns": {abs: SimpleNamespace(versions=[(("f8",), lowering)])}}, {"lowering"}),
        ({"_getattrs": {"T": SimpleNamespace(versions=[((), within(lowering))])}}, {"lowering"}),
        ({"_casts": SimpleNamespace(versions=[((), Callable())])}, {"Callable.__call__"}),
        ({"_functions": {abs: [CasesAlone(None)]}}, {"CasesAlone"}),
        ({"_handlers": {"T": Callable}}, {"Callable.__call__"}),
        ({"_globals": {abs: SimpleNamespace(templates=(CasesAlone,))}}, {"CasesAlone"}),
        (
            {"_functions": {abs: [make_overload_template(abs, lowering, {}, True, "never")(None)]}},
            {"lowering"},
        ),
    ],
)
def test_what_is_not_numbas_is_found_wherever_it_is_registered(more, names):
    found = registered(**more)
    assert {name for name in found if "<lambda>" not in name} == {HERE + name for name in names}


def test_a_function_that_says_that_it_is_numbas_is_none():
    names = {"__name__": "numba.core.base", "__spec__": operator.__spec__}
    exec("def lowering(context, builder, signature, args): return args[0]", names)
    defns = {abs: SimpleNamespace(versions=[((), names["lowering"])])}
    assert registered(_defns=defns) == {"numba.core.base:lowering"}


@needs_compiler
@pytest.mark.slow
def test_all_that_numba_registers_is_its_own():
    cpu_target.target_context.refresh()
    assert foreign_registrations(cpu_target.target_context, cpu_target.typing_context) == set()
