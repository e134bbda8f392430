"""Processes as on other processors: under other kernels of OpenBLAS, or NumPy without its own."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

_CORES = {"Nehalem": "SSE42", "Sandybridge": "AVX", "Haswell": "AVX2", "SkylakeX": "AVX512_SKX"}
"""What a processor must have, as NumPy calls it, for OpenBLAS to run these kernels of its own."""
_WHICH = """
import scipy.linalg, threadpoolctl
print(*(each["architecture"] for each in threadpoolctl.threadpool_info()
        if each["internal_api"] == "openblas"))
"""


def other_processors():
    """Return environments, by name: one, of a type of core that is not this one's, with NumPy that
    has no code of its own for any: a result that follows from either differs there. Skips the test
    where OpenBLAS, NumPy's and SciPy's, has no kernels to choose from."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"core types are of x86-64, and this is {platform.machine()}")
    pytest.importorskip("threadpoolctl")
    has = _of_numpy()["__cpu_features__"]
    cores = [core for core, feature in _CORES.items() if has.get(feature)][-3:]
    found = {core: {"OPENBLAS_CORETYPE": core} for core in cores}
    for core, environment in found.items():
        if output_of(["-c", _WHICH], environment).split() != [core, core]:
            pytest.skip("OpenBLAS cannot be told which kernels to take")
    here = output_of(["-c", _WHICH], {}).split()
    found = {core: environment for core, environment in found.items() if {core} != {*here}}
    own = [name for name in _of_numpy()["__cpu_dispatch__"] if has.get(name)]
    name, oldest = next(iter(found.items()))
    baseline = {**oldest, "NPY_DISABLE_CPU_FEATURES": " ".join(own)}
    return {f"{name}, NumPy's baseline": baseline}


def _of_numpy():
    core = getattr(np, "_core", None) or np.core
    return vars(core._multiarray_umath)


def output_of(arguments, environment):
    """Return what Python prints in a process of its own."""
    command = [sys.executable, "-W", "ignore", *map(str, arguments)]
    ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout
