"""dpcore's own algorithms as bench/ranking.py runs those of others: ``dpcore_external.py NAME
FOLDER``, in an environment that has dpcore. The number of rows stays private."""

import sys
import warnings

import numpy as np
import pyarrow as pa
from exchange_files import Request, is_number, run
from scipy.special import expit

from dpcore import Schema, fit
from dpcore.errors import DpcoreWarning

CLASSES = ["no", "yes"]


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    label, number = request["label"], is_number(request)
    columns = {c["name"]: _column(c) for c in request["columns"]}
    ends = {"lower": label["lower"], "upper": label["upper"]} if number else {"classes": CLASSES}
    schema = Schema.from_dict({"columns": {**columns, label["name"]: {"kind": "label", **ends}}})
    if not number:
        names = pa.array(CLASSES).take(train.column(label["name"]).combine_chunks())
        train = train.set_column(train.num_columns - 1, label["name"], names)
    model = fit(
        _texts(train),
        schema=schema,
        algo=sys.argv[1],
        loss="ridge" if number else "logistic",
        epsilon=request["epsilon"],
        delta=request["delta"],
        relation=request["relation"],
    )
    rows = _texts(test)
    return model.predict(rows) if number else expit(model.decision_function(rows))


def _column(column: dict) -> dict:
    if column["kind"] == "number":
        return {"kind": "numeric", "lower": column["lower"], "upper": column["upper"]}
    return {"kind": "categorical", "categories": column["levels"]}


def _texts(rows: pa.Table) -> pa.Table:
    """Return levels as texts."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            texts = rows.column(place).cast(pa.string())
            rows = rows.set_column(place, field.name, texts)
    return rows


if __name__ == "__main__":
    warnings.simplefilter("ignore", DpcoreWarning)
    run(predict)
