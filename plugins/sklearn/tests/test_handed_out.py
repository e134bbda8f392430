"""Estimators, their clones and their parameters are the same on neighbouring tables with equal
releases, to the last byte of a pickle and the last object that they hold."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from odd_rows import KINDS, OBJECTS, frame_of, good_cells, is_legal, schema_of
from sklearn.base import clone
from traces import Replay, differences, of_objects

from dpcore import Schema
from dpcore_sklearn import (
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
    PublicEncoder,
    PublicScaler,
    make_pipeline,
)

SEEDED = {"random_state": 1, "algo": "dp-gd"}
CUBE = {"bounds": (0, 1), **SEEDED}


def handed_out(fitted):
    """Return all that is at hand after a fit, without the time that it took."""
    own = getattr(fitted, "best_estimator_", fitted)
    own = own[-1] if hasattr(own, "steps") else own
    report = {key: value for key, value in own.model_.report.items() if key != "seconds"}
    own.model_ = replace(own.model_, report=report)
    public = {name: getattr(fitted, name, None) for name in dir(fitted) if name[0] != "_"}
    learnt = {name: value for name, value in public.items() if not callable(value)}
    of_clone = {"clone": clone(fitted), "parameters": clone(fitted).get_params()}
    return {"fitted": fitted, "given": fitted.get_params(), **learnt, **of_clone}


def assert_alike(make, tables):
    """Assert that estimators of the tables are alike, with the releases of the first."""
    (X, y), *neighbours = tables
    replay = Replay()
    with replay.run():
        expected = of_objects(handed_out(make().fit(X, y)))
    for X, y in neighbours:
        with replay.run():
            assert differences(expected, of_objects(handed_out(make().fit(X, y)))) == []


X = np.random.default_rng(0).uniform(0, 1, (20, 3))
Y = np.arange(20) % 2
ODD = [2.0, 5, 9], [0.0, 0, 0], [-0.0, -1, 0.5], [1e300, 0, 0]
TABLES = [(X, Y), *((np.vstack([X, row]), np.append(Y, 0)) for row in ODD)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: PrivateLinearSVC(**CUBE),
        lambda: PrivateLogisticRegression(**CUBE),
        lambda: PrivateLogisticRegression(private_bounds=True, **SEEDED),
        lambda: PrivateLogisticRegression(test_fraction=0.3, evaluate_share=0.2, **CUBE),
        lambda: make_pipeline(PublicScaler(bounds=(0, 1)), PrivateLogisticRegression(**CUBE)),
        lambda: PrivateSearch(
            estimator=PrivateLogisticRegression(bounds=(0, 1), algo="dp-gd"),
            candidates={"l2": [0.01, 0.1]},
            search="list",
            random_state=3,
        ),
    ],
)
def test_estimators_of_arrays(make):
    assert_alike(make, TABLES)


def test_estimators_of_lists():
    assert_alike(lambda: PrivateLogisticRegression(**CUBE), [(x.tolist(), [*y]) for x, y in TABLES])


def test_a_regression_with_odd_targets():
    tables = [(X, Y), *((np.vstack([X, X[:1]]), np.append(Y, y)) for y in (0.5, 99, -7))]
    assert_alike(lambda: PrivateRidge(target_bounds=(0, 1), **CUBE), tables)


@pytest.mark.slow
def test_columns_of_categories():
    rows = pd.DataFrame({"a": [1.0, 2, 3, 4] * 3, "c": ["u", "v", "u", ""] * 3})
    odd = pd.DataFrame({"a": [99.0, 1, 1, 1], "c": ["u", "zz", "", None]})
    tables = [(rows, Y[:12])]
    tables += [(pd.concat([rows, odd[i : i + 1]]), Y[:13]) for i in range(len(odd))]
    categories = {"c": ["u", "v"]}
    public = {"bounds": {"a": (0, 5)}, "categories": categories}
    assert_alike(lambda: PrivateLogisticRegression(**public, **SEEDED), tables)
    numbers = [(rows[["c"]].assign(d="w"), y) for rows, y in tables]
    encoder = {"categories": {"c": ["u", "v"], "d": ["w"]}}
    assert_alike(
        lambda: make_pipeline(PublicEncoder(**encoder), PrivateLogisticRegression(**CUBE)), numbers
    )


# Every kind of column is read in tests/fitting/test_handed_out.py: an estimator hands it on.
@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS][3::5])
def test_estimators_with_a_schema(kind):
    def table(cells):
        rows = frame_of(cells)
        return rows[["x"]], rows["y"].to_numpy(dtype=object)

    good = good_cells(kind)
    odd = [cell for cell in OBJECTS[::2] if is_legal(kind, cell)]
    keys = schema_of(kind)

    def make():
        return PrivateLogisticRegression(schema=Schema.from_dict(keys), **SEEDED)

    assert_alike(make, [table(good), *(table([*good, cell]) for cell in odd)])


def test_a_clone_of_a_fitted_estimator_is_that_of_one_that_read_no_row():
    given = Schema.from_dict(schema_of("number, marked"))
    estimator = PrivateLogisticRegression(schema=given, **SEEDED)
    before = of_objects({"clone": clone(estimator), "given": given})
    rows = frame_of([*good_cells("number, marked"), "  "])
    estimator.fit(rows[["x"]], rows["y"].to_numpy(dtype=object))
    estimator.predict(rows[["x"]])
    assert estimator.schema is given
    assert differences(before, of_objects({"clone": clone(estimator), "given": given})) == []
