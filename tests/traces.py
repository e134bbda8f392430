"""Traces that rows may leave: in what is handed out, and in the process that read them.

Run as a program, it fits the files of each line of its input in a process of its own, which is
forked after the imports, and prints what that process has then (``of_process``).
"""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import gc
import json
import os
import pickle
import re
import sys
import tempfile
import traceback
import types
import warnings
import weakref
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import Account
from dpcore_lab.replay.canonical import canonical

ASKED = {"algo": "dp-gd", "epsilon": 1.0, "seed": 1, "params": {"steps": 2}}
_ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...))
_NAMED = (
    *(type, types.ModuleType, types.BuiltinFunctionType, types.CodeType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)


def of_objects(handed_out):
    """Return the traces in some objects by name: their pickles, what ``vars`` and slots have at any
    depth, and what the collector of cycles sees."""
    ways = {"pickle": pickle.dumps, "vars": canonical, "referents": held}
    named = handed_out.items()
    return {(name, way): trace(value) for name, value in named for way, trace in ways.items()}


def differences(one, other):
    """Return what differs between two results of ``of_objects`` or ``of_process``."""
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


def held(value):
    """Return all that an object holds, at any depth, as the collector of cycles sees it: a list,
    equal where equal things are in the same places. Classes and modules are names; of a function it
    is what was bound to it, of a kernel nothing (``of_process``)."""
    found, places, kept, waiting = [], {}, [], [value]
    while waiting:
        one = waiting.pop()
        kind = f"{type(one).__module__}.{type(one).__qualname__}"
        if isinstance(one, _NAMED):
            found.append((kind, getattr(one, "__name__", repr(one))))
        elif isinstance(one, Dispatcher):
            found.append((kind, _name(one.py_func)))
        elif type(one) in _ATOMS:
            found.append((kind, repr(one)))
        elif id(one) in places:
            found.append(("again", places[id(one)]))
        else:
            places[id(one)] = len(places)
            kept.append(one)  # so that no other object gets its id
            form, inner = _referents(one)
            found.append((kind, *form))
            waiting += inner
    return found


def _referents(one):
    """Return the form of an object, and what it holds."""
    if isinstance(one, np.ndarray):
        flags = one.flags
        form = str(one.dtype), one.shape, one.strides, flags.writeable, flags.owndata, flags.aligned
        return form, [one.tolist() if one.dtype.hasobject else one.tobytes(), one.base]
    if isinstance(one, types.FunctionType):
        return (one.__qualname__,), [one.__defaults__, one.__closure__, vars(one)]
    if isinstance(one, (set, frozenset)):
        return (len(one),), sorted(one, key=repr)
    inner = gc.get_referents(one)
    is_plain = not inner or isinstance(one, (str, bytes, int, float))
    return (repr(one) if is_plain else "", len(inner)), inner


class Replay:
    """Gives, run after run, what the releases of the first run gave; the rows are asked in each."""

    def __init__(self, values=()):
        self.values = list(values)

    @contextlib.contextmanager
    def run(self):
        whole, known = Account.charge_then_draw, iter(self.values)
        is_first = not self.values

        def charge_then_draw(account, event, entry, draw):
            value = whole(account, event, entry, draw)
            if is_first:
                self.values.append(copy.deepcopy(value))
                return value
            return copy.deepcopy(next(known))

        Account.charge_then_draw = charge_then_draw
        try:
            yield
        finally:
            Account.charge_then_draw = whole


_PLACE = re.compile(r" at 0x[0-9a-f]+")


def of_process(*asked):
    """Return what the process has that code which ran on rows may have left there, by name: all of
    it, or what was asked for."""
    gc.unfreeze()  # of what is frozen, such as kernels and caches of modules, nothing is told
    gc.collect()
    by_type = collections.defaultdict(list)
    for one in gc.get_objects():
        by_type[type(one)].append(one)

    def of(kind):
        # The type, since a weak proxy of what is gone has no class to ask for.
        return (one for each, found in by_type.items() if kind in each.__mro__ for one in found)

    # What is kept by the id of a class is told by its name: where it lies is nothing of a row's.
    classes = {repr(id(one)): _name(one) for one in of(type)}
    modules = {name: vars(module) for name, module in list(sys.modules.items())}
    told = {name: known.get("__warningregistry__", {}) for name, known in modules.items()}
    found = {
        "modules": lambda: sorted(modules),
        "kernels": lambda: sorted(
            [_name(one.py_func), *map(str, one.signatures)] for one in of(Dispatcher)
        ),
        "caches": lambda: sorted(
            (_name(one.__wrapped__), _kept(one)) for one in of(functools._lru_cache_wrapper)
        ),  # some share names
        "patterns": lambda: sorted(map(repr, re._cache)),
        "warnings": lambda: {name: _keys(known) for name, known in told.items() if known},
        "warned once": lambda: _keys(warnings.onceregistry),
        "globals": lambda: {
            f"{module}.{name}": _contents(value, classes)
            for module, known in modules.items()
            if module.split(".")[0].split("_")[0] == "dpcore"
            for name, value in known.items()
            if not name.startswith("__")
        },
    }
    found = {name: found[name]() for name in asked or found}
    return json.loads(_PLACE.sub("", json.dumps(found)))


def _name(function):
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"


def _keys(known):
    return sorted(map(repr, known))


def _kept(cache):
    """Return the counts of a cache of a function's results, and the arguments that it keeps."""
    kept = (each for each in gc.get_referents(cache) if isinstance(each, dict))
    return [list(cache.cache_info()), *(_keys(each) for each in kept if each is not vars(cache))]


_CONTAINERS = (dict, list, set, collections.deque, weakref.WeakValueDictionary)


def _contents(value, classes):
    """Return the keys of a module's container, and all that an object of a class of ours holds."""
    if isinstance(value, _CONTAINERS):
        return sorted(classes.get(key, key) for key in _keys(value))
    is_ours = type(value).__module__.startswith("dpcore")
    return repr(held(value)) if is_ours and not isinstance(value, type) else ""


def fit_files(job):
    """Fit each file under its schema with the releases of an earlier process, if there was one,
    then score some rows by the last model. A file of pickled rows is a frame."""
    from dpcore import Schema, fit

    records, model = Path(job["records"]), None
    known = pickle.loads(records.read_bytes()) if records.exists() else [()] * len(job["files"])
    replays = [Replay(values) for values in known]
    for replay, (path, keys) in zip(replays, job["files"], strict=True):
        schema = Schema.from_dict(keys)
        with replay.run():
            if path.endswith(".pickle"):
                model = fit(pickle.loads(Path(path).read_bytes()), schema=schema, **ASKED)
            else:
                request = DataRequest(path, schema, bad_rows="drop")
                model = Run.train(make_plan(Settings(**ASKED)), request).model
    records.write_bytes(pickle.dumps([replay.values for replay in replays]))
    for path in job["scored"]:
        model.predict(path)


def _broken():
    """Leave a trace of a cell in each of the places: every broken reader in one."""
    from dpcore.data.cells import readings

    whole = readings.empty_cells

    @functools.cache
    def looked_at(kind):
        return re.compile(f"{kind}?")

    def empty_cells(cells, notation):
        empty = whole(cells, notation)
        if empty.any():
            import wave  # noqa: F401  (which nothing else here imports)

            looked_at("a cell")
            readings.SEEN.add("an empty cell")
            warnings.warn("an empty cell", stacklevel=1)
        return empty

    readings.SEEN, readings.empty_cells = set(), empty_cells


def _in_a_child(job):
    """Do a job in a forked process, which nothing was done in but the imports of this file, and
    print what it has then, as one line: or how it ended, where it failed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if job["broken"]:
                _broken()
            fit_files(job)
            print(json.dumps(of_process()), flush=True)
            status = 0
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)
    if status := os.waitpid(child, 0)[1]:
        print(json.dumps({"ended with": status}), flush=True)


def load_kernels():
    """Fit rows without anything odd, from memory and of a file, so that not each process imports
    the readers and loads the kernels of a fit: what these need, every fit of a file has."""
    from dpcore import fit

    rows = np.eye(3)
    fit(rows, np.array([0, 1, 0]), classes=(0, 1), row_norm=1.0, n0=3, **ASKED)
    number = {"kind": "numeric", "lower": -5, "upper": 90}
    keys = {"columns": {"x": number, "y": {"kind": "label", "classes": ["0", "1"]}}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        path.write_text("x,y\n3,0\n3,1\n")
        fit_files({"files": [(str(path), keys)], "scored": [], "records": f"{path}.pickle"})


if __name__ == "__main__":
    warnings.simplefilter("default")
    load_kernels()
    for line in sys.stdin:
        _in_a_child(json.loads(line))
