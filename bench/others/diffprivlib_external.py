"""diffprivlib's logistic and linear regression, at their defaults, as an external algorithm.

LogisticRegression perturbs the objective (Chaudhuri, Monteleoni & Sarwate 2011), LinearRegression
its coefficients (Zhang et al. 2012). Both are at delta = 0, and take the number of rows as public.
"""

import warnings

import numpy as np
import pyarrow as pa
from diffprivlib.models import LinearRegression, LogisticRegression
from exchange_files import Request, is_number, matrix, run


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    label, X = request["label"], matrix(request, train)
    y = train.column(label["name"]).to_numpy()
    if is_number(request):
        ends = np.zeros(X.shape[1]), np.ones(X.shape[1])
        bounds = label["lower"], label["upper"]
        model = LinearRegression(epsilon=request["epsilon"], bounds_X=ends, bounds_y=bounds)
        found = model.fit(X, y).predict(matrix(request, test))
        return np.clip(np.nan_to_num(found, nan=sum(bounds) / 2), *bounds)
    model = LogisticRegression(epsilon=request["epsilon"], data_norm=request["norm"])
    if len(np.unique(y)) < 2:  # It knows the classes from the rows alone.
        return np.full(test.num_rows, float(y.mean()) if len(y) else 0.5)
    return model.fit(X, y).predict_proba(matrix(request, test))[:, 1]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # that 100 iterations, its default, were not enough
    run(predict)
