import pickle
import warnings
import pytest
from odd_rows import *
from traces import Replay, held
import dpcore
from dpcore.data.schema.schema import Schema
from dpcore.errors import DataError, DpcoreError
from dpcore.fitting.loading import DataRequest
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import train
from dpcore.fitting.settings import Settings
from dpcore.testing.canonical import canonical


def csv_of(cells, path, labels=None):
    lines = ["x,y", *(f"{c},{i % 2}" for i, c in enumerate(cells))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def traces(given):
    return {name: (pickle.dumps(v), canonical(v), held(v)) for name, v in given.items()}


def trained(path, schema, **asked):
    settings = Settings(algo="dp-gd", epsilon=1.0, seed=1, params={"steps": 2}, **asked)
    t = train(make_plan(settings), DataRequest(path, schema, bad_rows="drop"))
    r = dict(t.model.report)
    r.pop("seconds")
    from dataclasses import replace

    return {
        "model": replace(t.model, report=r),
        "report": r,
        "schema": t.model.schema,
        "given": schema,
        "facts": t.facts,
    }


def fitted(path, schema):
    m = dpcore.fit(path, schema=schema, algo="dp-gd", epsilon=1.0, seed=1, params={"steps": 2})
    r = dict(m.report)
    r.pop("seconds")
    from dataclasses import replace

    return {"model": replace(m, report=r), "report": r, "schema": m.schema, "given": schema}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [trained, fitted])
def test_csv(kind, tmp_path, way):
    keys = schema_of(kind)

    def run(cells):
        with replay.run():
            out = way(csv_of(cells, tmp_path / "t.csv"), Schema.from_dict(keys))
        return traces(out)

    replay = Replay()
    good = good_cells(kind)
    base = run(good)
    bad = []
    n = 0
    for odd in TEXTS:
        try:
            other = run([*good, odd])
        except DataError:
            continue
        n += 1
        for name in base:
            for part, a, b in zip(("pickle", "vars", "held"), base[name], other[name]):
                if a != b:
                    bad.append((odd, name, part))
    print(n)
    assert not bad, bad
