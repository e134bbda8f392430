"""Values of budgets, by name, of every accountant that computes in floats: printed as JSON.

Beside them are a product of matrices, which a library adds in an order of its own choice, and a
function of NumPy's own: a control, which other processors are to see as other numbers.
"""

import hashlib
import itertools
import json

import numpy as np

from dpcore.accountants.registered import registered_accountants
from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import (
    DominatingPairDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
)
from dpcore_accounting.pld import PldAccountant
from dpcore_accounting.rdp import RdpAccountant

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
EVENTS = {
    "pair": DominatingPairDpEvent((20, 30, 50), (40, 35, 25)),
    "laplace": LaplaceDpEvent(5.0),
    "pure": PureDpEvent(0.1),
    "fixed size": SampledWithoutReplacementDpEvent(1000, 10, GaussianDpEvent(1.0), SPECIAL),
    "skellam": PoissonSampledDpEvent(0.02, SkellamDpEvent(400.0, 20.0, 8.0), ADD),
} | {
    f"m={m} p={p} {relation.value}": PoissonSampledDpEvent(p, GaussianDpEvent(m), relation)
    for m, p, relation in itertools.product((0.6, 2.0), (1e-3, 0.2), (ADD, SPECIAL))
}


def value(accountant, event, count):
    """Return what so many of an event come to, exactly."""
    filter_ = accountant.from_budget(50.0, 1e-6)
    if accountant is RdpAccountant:
        filter_ = accountant.for_schedule(50.0, 1e-6, {event: count})
    if accountant is PldAccountant:
        return filter_._composed(((event, count),))
    if hasattr(filter_, "rounds"):
        return filter_._composed(filter_._added(event, count))
    return filter_.cost(event)


def planned(accountant):
    """Return the noise of a schedule, what its first release is charged, and its epsilon."""

    def schedule(m):
        return {PoissonSampledDpEvent(0.02, GaussianDpEvent(m), ADD): 300}

    filter_ = FixedSchedule.planned_accountant(accountant, 2.0, 1e-6, None, schedule)
    multiplier = FixedSchedule.noise_multiplier(filter_, schedule)
    after = filter_.compose(next(iter(schedule(multiplier))))
    return multiplier, after.spent, after.get_epsilon(1e-6)


def values():
    found = {}
    for accountant in registered_accountants():
        for (name, event), count in itertools.product(EVENTS.items(), (1, 700)):
            if accountant.supports(event):
                found[f"{accountant.name} {count} {name}"] = value(accountant, event, count)
        if accountant.supports(PoissonSampledDpEvent(0.02, GaussianDpEvent(1.0), ADD)):
            found[f"{accountant.name} planned"] = planned(accountant)
    return {name: repr(each) for name, each in found.items()}


if __name__ == "__main__":
    x = np.random.default_rng(0).random((101, 101))
    # NumPy has an exp of its own for double precision from AVX-512 on, for single from AVX2 on.
    control = {"product": x @ x[::-1], "exp": np.stack([np.exp(x), np.exp(np.float32(x))])}
    words = {name: hashlib.sha256(each.tobytes()).hexdigest() for name, each in control.items()}
    print(json.dumps({"values": values(), "control": words}))
