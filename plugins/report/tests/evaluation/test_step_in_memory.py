"""A private evaluation of rows in memory, by ``dpcore.fit`` and the estimators."""

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import TableSession
from dpcore_sklearn import PrivateLogisticRegression


def in_memory(n=400, **others):
    rng = np.random.default_rng(2)
    X = rng.random((n, 2))
    y = np.where(X[:, 0] > 0.5, 1, 0)
    told = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None, "delta": 1e-6}
    return fit(X, y, algo="dp-gd", params={"steps": 10}, epsilon=20.0, **told, **others)


def test_rows_in_memory_are_held_out_too():
    model = in_memory(test_fraction=0.5, evaluate_share=0.3)
    assert model.ledger[-1]["kind"] == "evaluation"
    assert model.evaluation["held_out_rows"]["value"] == pytest.approx(200, abs=80)
    assert model.evaluation["accuracy"]["value"] > 0.7


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"test_fraction": 0.5}, "evaluate_share or evaluate_epsilon beside test_fraction"),
        ({"evaluate_share": 0.5}, "--test-fraction .* beside --evaluate-share"),
        ({"evaluate_epsilon": 0.5}, "--test-fraction .* beside --evaluate-epsilon"),
        ({"evaluate_epsilon": 0.5, "test_fraction": 1.5}, "0 < test_fraction=1.5 < 1"),
    ],
)
def test_rows_in_memory_that_cannot_be_held_out_are_refused(monkeypatch, others, message):
    monkeypatch.setattr(TableSession, "release", lambda *_: pytest.fail("a release"))
    with pytest.raises(InvalidInputError, match=message):
        in_memory(**others)


def test_an_estimator_has_the_metrics_too():
    X = np.random.default_rng(2).random((400, 2))
    asked = {"test_fraction": 0.5, "evaluate_epsilon": 5.0}
    estimator = PrivateLogisticRegression(bounds=(0, 1), algo="dp-gd", epsilon=20.0, **asked)
    fitted = estimator.fit(X, (X[:, 0] > 0.5).astype(int)).model_
    assert fitted.privacy["evaluation"]["epsilon"] == 5.0
    assert set(fitted.evaluation["recall"]) == {"0", "1"}
