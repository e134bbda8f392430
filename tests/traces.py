"""Traces that rows may leave: in what a fit hands out, and in the process."""

import contextlib
import copy
import gc
import types

import numpy as np

from dpcore.session.account import Account

_ENDS = (
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented))


def held(value):
    """Return all that an object holds, at any depth, as the collector of cycles sees it: a list that
    is equal for objects that hold equal things in the same places."""
    found, places, waiting = [], {}, [value]
    keep = []
    while waiting:
        one = waiting.pop()
        kind = f"{type(one).__module__}.{type(one).__qualname__}"
        if isinstance(one, _ENDS):
            found.append((kind, getattr(one, "__name__", repr(one))))
            continue
        if type(one) in _ATOMS:
            found.append((kind, repr(one)))
            continue
        if id(one) in places:
            found.append(("again", places[id(one)]))
            continue
        places[id(one)] = len(places)
        keep.append(one)
        if isinstance(one, np.ndarray):
            flags = one.flags
            found.append(
                (
                    kind,
                    str(one.dtype),
                    one.shape,
                    one.strides,
                    flags.writeable,
                    flags.owndata,
                    flags.aligned,
                )
            )
            inner = one.tolist() if one.dtype.hasobject else one.tobytes()
            waiting += [inner, one.base]
            continue
        if isinstance(one, types.FunctionType):
            found.append((kind, one.__qualname__))
            waiting += [one.__defaults__, one.__kwdefaults__, one.__closure__, one.__dict__]
            continue
        if isinstance(one, (set, frozenset)):
            found.append((kind, len(one)))
            waiting += sorted(one, key=repr)
            continue
        inner = [*gc.get_referents(one)]
        if not gc.is_tracked(one) and not inner:
            found.append((kind, repr(one)))
        else:
            found.append((kind, len(inner)))
        if isinstance(one, (str, bytes, int, float)):  # of a subclass
            found.append((kind, repr(one)))
        waiting += inner
    return found


class Replay:
    """Gives, run after run, what the first run's releases gave; the rows are asked all the same."""

    def __init__(self):
        self.values = []
        self._left = None

    @contextlib.contextmanager
    def run(self):
        whole = Account.charge_then_draw
        self._left = iter(self.values) if self.values else None

        def charge_then_draw(account, event, entry, draw):
            value = whole(account, event, entry, draw)
            if self._left is None:
                self.values.append(copy.deepcopy(value))
                return value
            return copy.deepcopy(next(self._left))

        Account.charge_then_draw = charge_then_draw
        try:
            yield
        finally:
            Account.charge_then_draw = whole
