"""DP-EBM of interpret, at its defaults, as an external algorithm: boosted trees of one column each
(Nori, Caruana, Bu, Shen & Kulkarni, ICML 2021). Numbers have public bounds; levels it takes from
the rows, and the number of rows as public."""

import numpy as np
import pandas as pd
import pyarrow as pa
from exchange_files import Request, is_number, run
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

NONE = "none of them"


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    label, columns = request["label"], request["columns"]
    kinds = ["continuous" if c["kind"] == "number" else "nominal" for c in columns]
    asked = {
        "feature_names": [c["name"] for c in columns],
        "feature_types": kinds,
        "epsilon": request["epsilon"],
        "delta": request["delta"],
        "privacy_bounds": {
            c["name"]: (c["lower"], c["upper"]) for c in columns if c["kind"] == "number"
        },
        "n_jobs": 1,
    }
    X, X_test = _frame(request, train), _frame(request, test)
    y = train.column(label["name"]).to_numpy()
    if is_number(request):
        ends = {"privacy_target_min": label["lower"], "privacy_target_max": label["upper"]}
        return DPExplainableBoostingRegressor(**asked, **ends).fit(X, y).predict(X_test)
    return DPExplainableBoostingClassifier(**asked).fit(X, y).predict_proba(X_test)[:, 1]


def _frame(request: Request, rows: pa.Table) -> pd.DataFrame:
    frame = rows.select([c["name"] for c in request["columns"]]).to_pandas()
    for column in request["columns"]:
        if column["kind"] != "number":
            frame[column["name"]] = frame[column["name"]].astype(object).fillna(NONE)
    return frame


if __name__ == "__main__":
    run(predict)
