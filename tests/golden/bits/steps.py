"""Released bits of every step of a seeded run, each alone and beside others. Of x86-64."""

import tomllib
from functools import partial

import pandas as pd
from golden import tables
from golden.bits.released import released
from golden.command import outcome
from golden.own_step import STEP

from dpcore import Intervals, fit
from dpcore_a_ddp.users.messages import User

_HELD_OUT = {"test_fraction": 0.3, "evaluate_share": 0.2}
_OVR = {"multiclass": "ovr", "algo": "dp-gd"}
_PURE = {"delta": 0.0, "accountant": "pure", "algo": "privgene"}
_INTERVALS = {"intervals_share": 0.5, "epsilon": 100.0, "times": 30}
_USERS = [User(f"u{k}", 20, 4.0 + 4 * (k % 2), 1e-8) for k in range(tables.N_ROWS // 20)]
_OWN = {"also": [STEP], "algo": "dp-gd"}
_POOL = {"algo": "a-ddp", "users": _USERS, "params": {"most_rounds": 20}}
STEPS = {
    "none": {},
    "private bounds": {"private_bounds": True},
    "private bounds of a number": {"label": "income", "private_bounds": True, "algo": "dp-gd"},
    "private bounds, zcdp": {"private_bounds": True, "accountant": "zcdp"},
    "private bounds, replace-one": {"private_bounds": True, "relation": "replace-one"},
    "class weights": {"class_weight": {"yes": 3.0}},
    "balanced": {"class_weight": "balanced"},
    "balanced, held": {"class_weight": "balanced", "largest_weight": 1.02},
    "balanced of three classes": {"label": "ward", "class_weight": "balanced"},
    "balanced, pure": {"class_weight": "balanced", **_PURE},
    "weights of rows": {"sample_weight": [k % 5 / 2 for k in range(240)], "weight_bound": 1.5},
    "evaluation": _HELD_OUT,
    "evaluation by its epsilon": {"test_fraction": 0.3, "evaluate_epsilon": 1.0},
    "evaluation of three classes": {"label": "ward", **_HELD_OUT},
    "evaluation of a number": {"label": "income", "algo": "dp-gd", **_HELD_OUT},
    "evaluation of a quantile": {"label": "income", "loss": "quantile", **_HELD_OUT},
    "evaluation of margins": {"loss": "huber-svm", **_HELD_OUT},
    "evaluation, rdp": {"accountant": "rdp", **_HELD_OUT},
    "evaluation, replace-one": {"relation": "replace-one", **_HELD_OUT},
    "intervals": _INTERVALS,
    "intervals of a number": {"label": "income", "algo": "dp-gd", **_INTERVALS},
    "intervals that cannot be had": {"also": [Intervals(0.1, anyway=True)], "epsilon": 0.5},
    "intervals, zcdp": {"accountant": "zcdp", **_INTERVALS},
    "intervals, evaluation": {**_INTERVALS, **_HELD_OUT},
    "one-vs-rest": {"label": "ward", **_OVR},
    "one-vs-rest, huber-svm": {"label": "ward", "loss": "huber-svm", **_OVR},
    "one-vs-rest, pure": {"label": "ward", **_OVR, **_PURE},
    "one-vs-rest, rdp": {"label": "ward", "accountant": "rdp", **_OVR},
    "one-vs-rest, evaluation": {"label": "ward", **_OVR, **_HELD_OUT},
    "units": {"unit": True},
    "units, evaluation": {"unit": True, **_HELD_OUT},
    "units, private bounds": {"unit": True, "private_bounds": True},
    "units, dp-agd": {"unit": True, "algo": "dp-agd"},
    "part": {"part": "city=Bern"},
    "part, evaluation": {"part": "city=Basel", **_HELD_OUT},
    "users": _POOL,
    "users, secure aggregation": {**_POOL, "trust": "secure-aggregation"},
    "a step of somebody's own": _OWN,
    "a step of somebody's own, replace-one": {"relation": "replace-one", **_OWN},
    "a step of somebody's own, one-vs-rest, evaluation": {
        "label": "ward",
        **_OWN,
        **_OVR,
        **_HELD_OUT,
    },
    "a step of somebody's own, private bounds, balanced": {
        **_OWN,
        "private_bounds": True,
        "class_weight": "balanced",
    },
    "rho": {"epsilon": None, "rho": 0.3},
    "mu": {"epsilon": None, "mu": 0.8},
    "bounds, weights, evaluation": {
        **_HELD_OUT,
        "private_bounds": True,
        "class_weight": "balanced",
        "unit": True,
    },
    "units, evaluation, intervals": {"unit": True, **_INTERVALS, **_HELD_OUT},
    "bounds, one-vs-rest, evaluation": {
        "label": "ward",
        **_OVR,
        "private_bounds": True,
        **_HELD_OUT,
    },
}
"""Words of ``fit`` by the step. ``label`` : of the table; ``unit`` : whether units are persons;
``times`` : how often the table has each row."""


def records():
    """Return what is released, by step, or with which error it ends."""
    return {name: outcome(partial(_released, **words)) for name, words in STEPS.items()}


def _released(label="hired", unit=False, private_bounds=False, times=1, **words):
    text = tables.schema(label, not private_bounds, unit, rows=times * tables.N_ROWS)
    frame = pd.concat([pd.DataFrame(tables.visits())] * times, ignore_index=True)
    words = {"epsilon": 4.0, "seed": 7, "threads": 1, **words}
    schema = tomllib.loads(text)
    return released(fit(frame, schema=schema, private_bounds=private_bounds, **words))
