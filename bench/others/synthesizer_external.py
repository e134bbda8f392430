"""Synthetic rows of smartnoise-synth and a plain model of scikit-learn on top, as an external.

``synthesizer_external.py mst FOLDER``, or aim. MST (McKenna, Miklau & Sheldon 2021) measures a tree
of marginals, AIM (McKenna, Mullins, Sheldon & Miklau, VLDB 2022) chooses them in rounds. Numbers
are cut into 16 equal bins of their public bounds, a target into 32; the number of rows is taken as
public. As many rows are drawn, and a logistic or a ridge regression is fitted to them.
"""

import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
from exchange_files import Request, is_number, matrix, run
from mbi import Dataset, Domain
from sklearn.linear_model import LogisticRegression, Ridge
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer

BINS, TARGET_BINS = 16, 32
RIDGE = 1.0


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    label, number = request["label"], is_number(request)
    places, counts = _places(request, train), _counts(request)
    drawn = _synthetic(sys.argv[1], request, places, counts)
    made = {}
    for column in request["columns"]:
        codes = drawn[column["name"]]
        if column["kind"] == "number":
            width = (column["upper"] - column["lower"]) / BINS
            made[column["name"]] = pa.array(column["lower"] + width * (codes + 0.5))
            continue
        none = codes == len(column["levels"])
        levels = pa.array(column["levels"], pa.string())
        made[column["name"]] = pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32), mask=none), levels
        )
    X, y, X_test = matrix(request, pa.table(made)), drawn[label["name"]], matrix(request, test)
    if number:
        width = (label["upper"] - label["lower"]) / TARGET_BINS
        model = Ridge(alpha=RIDGE).fit(X, label["lower"] + width * (y + 0.5))
        return np.clip(model.predict(X_test), label["lower"], label["upper"])
    if len(np.unique(y)) < 2:
        return np.full(len(X_test), float(y[0]))
    return LogisticRegression(max_iter=1000).fit(X, y).predict_proba(X_test)[:, 1]


def _counts(request: Request) -> dict[str, int]:
    """Return how many places each column has: bins, or levels and none of them."""
    counts = {
        c["name"]: BINS if c["kind"] == "number" else len(c["levels"]) + 1
        for c in request["columns"]
    }
    return counts | {request["label"]["name"]: TARGET_BINS if is_number(request) else 2}


def _places(request: Request, rows: pa.Table) -> pd.DataFrame:
    label, places = request["label"], {}
    for column in request["columns"]:
        cells = rows.column(column["name"]).combine_chunks()
        if column["kind"] == "number":
            places[column["name"]] = _binned(cells.to_numpy(), column, BINS)
        else:
            places[column["name"]] = cells.indices.fill_null(len(column["levels"])).to_numpy()
    y = rows.column(label["name"]).to_numpy()
    places[label["name"]] = _binned(y, label, TARGET_BINS) if is_number(request) else y
    return pd.DataFrame(places)


def _binned(values: np.ndarray, column: dict, bins: int) -> np.ndarray:
    part = (values - column["lower"]) / (column["upper"] - column["lower"])
    return np.clip((part * bins).astype(int), 0, bins - 1)


def _synthetic(
    name: str, request: Request, places: pd.DataFrame, counts: dict[str, int]
) -> dict[str, np.ndarray]:
    """Return places of as many synthetic rows, by the synthesizers' own measuring."""
    data = Dataset(places, Domain(list(counts), list(counts.values())))
    budget = request["epsilon"], request["delta"]
    if name == "mst":
        maker = MSTSynthesizer(*budget)
        maker.MST(data, *budget)
        drawn = maker.undo_compress_fn(maker.synthesizer.synthetic_data(rows=len(places)))
    else:
        from snsynth.utils import cdp_rho

        maker = AIMSynthesizer(*budget)
        maker.rho = cdp_rho(*budget)
        maker.AIM(data, maker.get_workload(data, degree=2, max_cells=10_000))
        drawn = maker.synthesizer.synthetic_data(rows=len(places))
    return {column: np.asarray(drawn.df[column]) for column in counts}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(predict)
