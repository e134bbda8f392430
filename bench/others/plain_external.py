"""References without privacy, as bench/ranking.py runs algorithms: ``plain_external.py NAME
FOLDER``, nonprivate for scikit-learn's logistic or ridge regression on the same features, constant
for the mean of the labels."""

import sys

import numpy as np
import pyarrow as pa
from exchange_files import Request, is_number, matrix, run
from sklearn.linear_model import LogisticRegression, Ridge


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    y = train.column(request["label"]["name"]).to_numpy()
    if sys.argv[1] == "constant":
        return np.full(test.num_rows, float(y.mean()))
    X, X_test = matrix(request, train), matrix(request, test)
    if is_number(request):
        label = request["label"]
        return np.clip(Ridge().fit(X, y).predict(X_test), label["lower"], label["upper"])
    return LogisticRegression(C=100.0, max_iter=3000).fit(X, y).predict_proba(X_test)[:, 1]


if __name__ == "__main__":
    run(predict)
