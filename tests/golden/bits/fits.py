"""Released bits of small seeded fits over optimizers, losses, relations, layouts, accountants.

They are of x86-64. Where a solver of SciPy or LAPACK has a part in a result, it is rounded before
anything follows from it; that of ``nonprivate`` is not, and has no record, nor has a combination
that is refused.
"""

from functools import cache

import numpy as np
import pandas as pd
from golden.bits.released import digest
from scipy.sparse import csr_matrix

from dpcore import fit
from dpcore.errors import DpcoreError
from dpcore.plugin.parts import PrivacyStatement, load_registry

N_ROWS = 300
SCHEMA = {
    "rows": N_ROWS,
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 100},
        "city": {"kind": "categorical", "categories": ["Bern", "Basel", "Genf"]},
        "height": {"kind": "numeric", "lower": -1, "upper": 1},
    },
}
SOLVED = ("objpert", "outpert", "output-nr", "output-doubling", "output-theory", "cov-nr",
          "cov-doubling", "cov-theory", "nonprivate", "adassp", "boosted-adassp",
          "gram-ridge")  # fmt: skip
"""Optimizers whose result a solver of SciPy or LAPACK has a part in; they need an l2."""
TARGETS = {"target_excess_risk": 0.2}
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
SEEN_UNDER = {
    "logistic": RELATIONS,
    "ridge": RELATIONS[:2],
    "hinge-svm": RELATIONS[:1],
    "huber-svm": RELATIONS[1:2],
}
"""Relations under which each loss is fitted: each loss and each relation with every algorithm."""
ACCOUNTANTS = (None, "zcdp", "rdp", "gdp", "pure", "single", "sampling-composition",
               "advanced-composition", "best", "skellam-composition")  # fmt: skip


@cache
def rows():
    """Return features, labels and a frame of the same kind, drawn once."""
    rng = np.random.default_rng(12)
    X = np.round(rng.random((N_ROWS, 6)) * (rng.random((N_ROWS, 6)) < 0.6), 3)
    y = np.where(X @ [1, -1, 2, 0, -2, 1] + 0.2 * rng.standard_normal(N_ROWS) > 0, 1, -1)
    frame = pd.DataFrame({"age": 100 * X[:, 0], "height": 2 * X[:, 1] - 1})
    frame["city"] = np.array(["Bern", "Basel", "Zug"])[rng.integers(3, size=N_ROWS)]
    return X, y, frame


def fit_case(layout, loss, words):
    """Return the model of one case."""
    X, y, frame = rows()
    if layout == "coded":
        label = {"kind": "label", "lower": -1, "upper": 1} if loss == "ridge" else {
            "kind": "label", "classes": [-1, 1]}  # fmt: skip
        schema = SCHEMA | {"columns": SCHEMA["columns"] | {"label": label}}
        return fit(frame, y, schema=schema, loss=loss, seed=7, **words)
    X = csr_matrix(X) if layout == "csr" else X
    public = {"n0": N_ROWS, "row_norm": 1.5}
    public |= {"target_bounds": (-1, 1)} if loss == "ridge" else {}
    return fit(X, y, loss=loss, seed=7, **public, **words)


def cases():
    """Yield the name and the words of every case, whether or not it fits."""
    for entry in load_registry().entries("optimizer"):
        if entry.distribution not in PrivacyStatement.DISTRIBUTIONS:
            continue
        algo = entry.name
        base = {"algo": algo, "epsilon": 2.0}
        if algo.startswith(("output-", "cov-")):
            base = {"algo": algo, "epsilon_max": 40.0, "targets": TARGETS}
        if algo in SOLVED or algo in ("psgd", "rsgd-ar", "bolt-on", "outpert-gd"):
            base |= {"l2": 0.05}
        if algo.startswith(("sgd-", "a-ddp")) and algo not in ("sgd-ma", "sgd-adv"):
            base |= {"epsilon": 8.0, "params": {"rows_per_user": 20, "rounds": 5}}
            if algo == "a-ddp":
                base["params"] |= {"most_rounds": 60}
        if algo in ("sgd-ma", "sgd-adv"):  # of 400 steps by default, as one case has
            base |= {"params": {"steps": 40}}
        for loss, relations in SEEN_UNDER.items():
            for relation in relations:
                yield f"{algo} {loss} {relation}", "dense", loss, base | {"relation": relation}
        for layout in ("csr", "coded"):
            usual = {"params": {}} if (algo, layout) == ("sgd-ma", "coded") else {}
            yield f"{algo} {layout}", layout, "logistic", base | usual
            yield f"{algo} ridge {layout}", layout, "ridge", base
        for name in ACCOUNTANTS[1:]:
            yield f"{algo} {name}", "dense", "logistic", base | {"accountant": name}
        for preset in getattr(load_registry().load("optimizer", algo), "presets", {}):
            yield f"{algo}:{preset}", "dense", "logistic", base | {"preset": preset}
        yield f"{algo}:as-published", "dense", "logistic", base | {"as_published": True}
    yield "dp-gd coded sizes", "coded", "logistic", {"algo": "dp-gd", "epsilon": 8.0}
    chosen = {"algo": "tukey-em", "epsilon": 4.0, "params": {"columns": 3, "models": 30}}
    yield "tukey-em columns", "dense", "ridge", chosen
    for loss in ("logistic", "huber-svm"):
        gamma = {"algo": "objpert", "delta": 0.0, "accountant": "pure", "use": {"noise": "gamma"}}
        yield f"objpert {loss} of gamma", "dense", loss, gamma | {"epsilon": 2.0, "l2": 0.05}
    for slot, name in (("gradient", "laplace"), ("selection", "permute-and-flip"),
                       ("selection", "report-noisy-max")):  # fmt: skip
        yield f"dp-agd {name}", "dense", "logistic", {"algo": "dp-agd", "epsilon": 2.0,
                                                    "use": {slot: name}}  # fmt: skip


_LONG = ("sgd-", "a-ddp", "privgene", "bolt-on", "dp-agd")
"""Starts of the names of algorithms that take many steps, each like the one before."""


def is_of_few(name):
    """Return whether a case is of the few that have every algorithm and every accountant. Those of
    many steps are fitted to columns that are encoded, others without them too, each loss under one
    of the relations."""
    algo, *rest = name.split(" ")
    if rest == ["skellam-composition"]:
        return algo == "sgd-users"
    if rest and rest[-1] in ACCOUNTANTS:
        return algo in ("dp-gd", "objpert", "dp-agd", "privgene")
    if algo.startswith(_LONG):
        return rest == ["coded"]
    if rest in (["logistic", "replace-one"], ["ridge", "add-or-remove-one"]):
        return False
    left_out = {"hinge-svm", "huber-svm", "csr", "replace-special"}
    return left_out.isdisjoint(rest) and ":" not in algo and name != f"{algo} ridge coded"


def records(chosen=lambda name: True):
    """Return the digest of every chosen case that fits."""
    found = {}
    for name, layout, loss, words in filter(lambda case: chosen(case[0]), cases()):
        if words["algo"] == "nonprivate":
            continue
        try:
            found[name] = digest(fit_case(layout, loss, words))
        except DpcoreError:
            continue
    return found
