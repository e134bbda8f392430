"""OpenDP's linear regression, as an external algorithm: Theil-Sen by private medians of pairs.

It is the one estimator of a target that OpenDP 0.16 has, and takes one column: here the first
number. Pure: ``max_divergence``; the scale is the least for epsilon.
"""

import numpy as np
import opendp.prelude as dp
import pyarrow as pa
from exchange_files import Request, columns_of, run


def predict(request: Request, train: pa.Table, test: pa.Table) -> np.ndarray:
    label, column = request["label"], columns_of(request, "number")[0]
    bounds = {
        "x_bounds": [(column["lower"], column["upper"])],
        "y_bounds": (label["lower"], label["upper"]),
    }

    def estimator(scale: float) -> dp.sklearn.linear_model.LinearRegression:
        return dp.sklearn.linear_model.LinearRegression(dp.max_divergence(), scale=scale, **bounds)

    scale = dp.binary_search(
        lambda scale: estimator(scale).measurement.map(1) <= request["epsilon"], bounds=(1e-6, 1e9)
    )
    x, y = (train.column(name).to_numpy() for name in (column["name"], label["name"]))
    model = estimator(scale).fit(x[:, None], y)
    found = model.coef_[0] * test.column(column["name"]).to_numpy() + model.intercept_
    return np.clip(found, label["lower"], label["upper"])


if __name__ == "__main__":
    dp.enable_features("contrib", "floating-point", "honest-but-curious", "idealized-numerics")
    run(predict)
