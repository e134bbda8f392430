"""A model of a cluster is the same on neighbouring tables with equal releases: rows were read by a
schema of the workers, and the model has its own."""

import copy
import pickle
from dataclasses import replace

import pytest

import dpcore
from dpcore import Schema
from dpcore.plugin.parts import Account
from dpcore_lab.replay.canonical import canonical

KEYS = {
    "rows": 9,
    "missing": ["", "NA"],
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 90, "indicator": True},
        "city": {"kind": "categorical", "categories": ["Bern", "Basel"], "indicator": True},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    },
}


@pytest.fixture
def replayed(monkeypatch):
    """Let releases after the first run's give what those gave."""
    whole, values, asked = Account.charge_then_draw, [], []

    def charge_then_draw(account, event, entry, draw):
        value = whole(account, event, entry, draw)
        if not asked:
            values.append(copy.deepcopy(value))
            return value
        asked[0] += 1
        return copy.deepcopy(values[asked[0] - 1])

    monkeypatch.setattr(Account, "charge_then_draw", charge_then_draw)

    def again():
        asked[:] = [0]

    return again


@pytest.mark.slow
def test_models_of_neighbouring_tables_are_alike(tmp_path, cluster, replayed):
    path, found = tmp_path / "t.csv", []
    engine = f"dask:{cluster.scheduler_address}"
    for odd in ("", ",,no\n", "  ,zz,no\n", "NA,Bern,no\n"):
        path.write_text("age,city,y\n" + "17,Bern,no\n23,Basel,yes\n" * 4 + odd)
        schema = Schema.from_dict(KEYS)
        asked = {"algo": "dp-gd", "epsilon": 1.0, "seed": 1, "params": {"steps": 2}}
        model = dpcore.fit(str(path), schema=schema, engine=engine, **asked)
        model = replace(model, report={})
        found.append((pickle.dumps(model), canonical(model), pickle.dumps(schema)))
        replayed()
    assert all(other == found[0] for other in found[1:])
