"""A loss's own parameters: set by name, refused before any data, kept with the model."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import fit, load_model
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.losses import make_loss
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.model.file import checksum
from dpcore.plugin.parts import load_registry
from dpcore_baselines.losses.quantile import Quantile


def test_parameters_of_the_loss_are_apart_from_those_of_the_algorithm():
    asked = {"loss.tau": ".9", "loss-clip": 3}
    assert Settings.params_apart(asked) == ({"loss-clip": 3}, {"tau": ".9"})
    plan = make_plan(Settings(algo="privgene", loss="quantile", params=asked))
    assert plan.loss == Quantile(tau=0.9) and plan.optimizer.loss_clip == 3.0
    assert Settings.loss_parameters(plan.loss) == {"tau": 0.9, "half_width": None}


@pytest.mark.parametrize(
    ("loss", "params", "told"),
    [
        ("quantile", {"loss.tua": 0.9}, r"loss quantile has no parameter 'tua'. Did you mean tau"),
        ("quantile", {"loss.tau": "1"}, r"tau=1.0 is out of range: expected a value in \(0, 1\)"),
        ("quantile", {"loss.tau": "high"}, "Expected tau='high' to be a finite number"),
        ("quantile", {"loss.half-width": 1e-9}, r"half_width=1e-09 is out of range"),
        ("huber-svm", {"loss.half_width": 2.0}, r"expected a value in \[0.015625, 1\]"),
        ("logistic", {"loss.tau": 0.9}, "loss logistic has no parameter 'tau'"),
        ("quantile", {"tau": 0.9}, r"dp-gd has no parameter 'tau'. Did you mean loss.tau[?]\n"),
        ("logistic", {"tau": 0.9}, "dp-gd has no parameter 'tau'. Known: "),
    ],
)
def test_what_the_loss_does_not_take_is_refused(loss, params, told):
    with pytest.raises(InvalidInputError, match=told):
        make_plan(Settings(loss=loss, params=params))


def test_a_plain_class_has_no_parameters():
    class Plain:
        def __init__(self, tau=0.5):
            self.tau = tau

    registry = SimpleNamespace(load=lambda kind, name: Plain)
    assert Settings.loss_parameters(make_loss("plain", {}, registry)) == {}
    with pytest.raises(InvalidInputError, match="The loss plain has no parameters"):
        make_loss("plain", {"tau": 0.9}, registry)


def test_users_agree_on_a_loss_by_name_alone():
    asked = Settings(algo="a-ddp", loss="huber-svm", params={"loss.half_width": 0.25})
    with pytest.raises(InvalidInputError, match="rules say a loss by name alone"):
        make_plan(asked)


def fitted(tau, **more):
    rng = np.random.default_rng(3)
    X = rng.random((1000, 1))
    y = X[:, 0] + rng.uniform(-1, 1, size=1000)
    asked = {"algo": "dp-gd", "loss": "quantile", "epsilon": 500.0, "delta": 1e-6, "seed": 1}
    params = {"loss.tau": tau, "steps": 100, "time": 900.0, **more}
    model = fit(X, y, target_bounds=(-2, 2), bounds=(0, 1), n0=1000, params=params, **asked)
    return model, float(np.mean(y < model.predict(X)))


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"loss.half_width": 0.125}])
def test_the_share_below_the_prediction_is_tau(more):
    # With next to no noise; a smoothed corner is a little beside it.
    for tau in (0.2, 0.8):
        assert fitted(tau, **more)[1] == pytest.approx(tau, abs=0.04)


def test_a_model_file_remembers_them(tmp_path):
    model, _ = fitted("0.8")
    model.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    parameters = {"tau": 0.8, "half_width": None}
    assert content["loss"] == {"name": "quantile", "parameters": parameters}
    again = load_model(tmp_path / "m.json")
    assert (again.loss, again.loss_parameters) == ("quantile", parameters)
    assert make_loss(again.loss, again.loss_parameters, load_registry()) == Quantile(tau=0.8)
    assert model.report["loss_parameters"] == parameters
    # As files were while no loss had parameters.
    content |= {"loss": "ridge"}
    del content["checksum"]
    content["checksum"] = checksum(content)
    (tmp_path / "m.json").write_text(json.dumps(content))
    old = load_model(tmp_path / "m.json")
    assert (old.loss, old.loss_parameters) == ("ridge", {})
