"""Released bits of searches, by the command and by the estimator, in all of their ways."""

import json

import numpy as np
import pandas as pd
from golden import tables
from golden.bits.released import released
from golden.command import dpcore

from dpcore import load_model
from dpcore_sklearn import PrivateLogisticRegression, PrivateRidge, PrivateSearch

_TUNE = "dpcore tune --data rows.csv --seed 5 --epsilon 8 --out model.json --json --schema "
_L2 = " --candidates l2=.001,.01,.1"
WAYS = {
    "geometric": "--algo dp-gd",
    "logarithmic": "--algo dp-gd --law logarithmic",
    "negative-binomial": "--algo dp-gd --law negative-binomial --eta .5",
    "poisson": "--algo dp-gd --law poisson --accountant rdp",
    "poisson, pure": "--algo privgene --law poisson --accountant pure",
    "by the loss": "--algo dp-gd --score loss",
    "rdp": "--algo dp-gd --accountant rdp",
    "few tries": "--algo dp-gd --tries 1.5",
    "half held out": "--algo dp-gd --held-out .5",
    "two parameters": "--algo dp-gd --candidates clip=.1,.2",
    "replace-one": "--algo dp-gd --relation replace-one",
    "units": "--algo dp-gd --unit person --rows-per-unit 2",
    "list": "--algo dp-gd --search list",
    "list, gdp": "--algo dp-gd --search list --accountant gdp",
    "list, by the loss": "--algo dp-gd --search list --score loss",
    "evaluation": "--algo dp-gd --test-fraction .3 --evaluate-share .2",
    "list, balanced, evaluation": "--algo dp-gd --search list --class-weight balanced "
    "--test-fraction .3 --evaluate-share .2",
    "dp-agd": "--algo dp-agd --tries 3",
    "three classes": "--algo dp-gd",
    "number": "--algo dp-gd",
}
_SCHEMAS = {"three classes": "ward.toml", "number": "income.toml"}


def records():
    """Return what is released, by the way of the search."""
    tables.write()
    found = {way: _tuned(way, options) for way, options in WAYS.items()}
    return found | _of_estimators()


def _tuned(way, options):
    said = dpcore(f"{_TUNE}{_SCHEMAS.get(way, 'hired.toml')} {options}{_L2}")
    if said.status:
        return said.err.strip()
    report = json.loads(said.out)
    report.pop("code", None)  # which a checkout has, and an installation has not
    told = {"keys": [*report], "accountant": report["accountant"]}
    return told | released(load_model("model.json"))


def _of_estimators():
    frame = pd.DataFrame(tables.visits())
    X = np.column_stack([frame["age"] / 100, (frame["height"] + 1) / 2])
    asked = {"candidates": {"l2": [0.001, 0.1]}, "epsilon": 8.0, "random_state": 5}
    logistic = PrivateLogisticRegression(classes=("no", "yes"), bounds=(0, 1), algo="dp-gd")
    ridge = PrivateRidge(target_bounds=(0, 100), bounds=(0, 1), algo="dp-gd")
    classes = PrivateSearch(estimator=logistic, **asked).fit(X, frame["hired"])
    numbers = PrivateSearch(estimator=ridge, search="list", **asked).fit(X, frame["income"])
    found = {"PrivateSearch": classes, "PrivateSearch of a number": numbers}
    alone = {"PrivateLogisticRegression": logistic, "PrivateRidge": ridge}
    labels = [frame["hired"], frame["income"]]
    for (name, estimator), y in zip(alone.items(), labels, strict=True):
        found[name] = estimator.set_params(random_state=5).fit(X, y)
    return {name: released(estimator.model_) for name, estimator in found.items()}
