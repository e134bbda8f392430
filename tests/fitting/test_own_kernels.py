"""The kernels of each paper's package: its usual fit calls them, on the loss that is usual."""

import importlib

import numpy as np
import pytest

from dpcore import fit

FEW = {"generations": 2, "candidates": 6, "survivors": 2}
PAPER = {"preset": "paper", "params": FEW}
CALLED = [
    ("dp-agd", "dpcore_dp_agd.logistic_line", "logistic_line_totals", {"params": {"steps": 3}}),
    ("rsgd-ar", "dpcore_rsgd_ar.sgd_pass", "bound_coefficients", {}),
    ("rsgd-ar", "dpcore_rsgd_ar.sensitivity", "recurrence", {}),
    ("rsgd-ar", "dpcore_rsgd_ar.sensitivity", "walk", {}),
    ("a-ddp", "dpcore_a_ddp.pools.pooled_rows", "drawn_margins", {"params": {"most_rounds": 2}}),
    ("a-ddp", "dpcore_a_ddp.pools.pooled_rows", "add_drawn", {"params": {"most_rounds": 2}}),
    ("cov-nr", "dpcore_accuracy_first.queries.gram", "exact_gram_sums", {"loss": "ridge"}),
    ("gram-ridge", "dpcore_adassp.products", "residual_sums", {"loss": "ridge"}),
    ("newton", "dpcore_newton.hessian", "write_roots", {}),
    ("frank-wolfe", "dpcore_frank_wolfe.row_state", "add_rows", {"params": {"steps": 2}}),
    ("auto", "dpcore_baselines.descent.averaged", "averaged_step", {}),
    ("dp-gd", "dpcore_baselines.descent.averaged", "averaged_step", {"params": {"steps": 2}}),
    ("sgd-ma", "dpcore_baselines.descent.averaged", "averaged_step", {"params": {"steps": 2}}),
    ("sgd-adv", "dpcore_baselines.descent.averaged", "averaged_step", {"params": {"steps": 2}}),
    ("objpert", "dpcore_baselines.queries.gradient_sum", "write_parts", {}),
    ("objpert", "dpcore_baselines.queries.descent", "bfgs_step", {}),
    ("outpert", "dpcore_baselines.queries.gradient_sum", "write_parts", {}),
    ("outpert", "dpcore_baselines.queries.descent", "bfgs_step", {}),
    ("output-nr", "dpcore_baselines.queries.descent", "bfgs_step", {}),
    # Of PrivGene the preset: its usual fit has no loop but those of scores, which are the core's.
    ("privgene", "dpcore_baselines.scores", "widest_square", PAPER),
]
TARGETS = {
    name: {"targets": {"target_excess_risk": 5.0}, "l2": 0.1} for name in ("cov-nr", "output-nr")
}


def called(monkeypatch, module, name, **asked):
    """Return how often a fit of a few rows calls the function of that name."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, size=(400, 2)), np.resize([0, 1], 400)
    known = {"classes": (0, 1)}
    if asked.get("loss") == "ridge":
        y, known = y - 0.5, {"target_bounds": (-1.0, 1.0)}
    within, calls = importlib.import_module(module), []
    kernel = getattr(within, name)
    assert hasattr(kernel, "py_func") or kernel.__module__.endswith("kernels")
    monkeypatch.setattr(within, name, lambda *given: calls.append(name) or kernel(*given))
    fit(X, y, row_norm=1.5, seed=1, **known, **asked)
    return len(calls)


@pytest.mark.parametrize(("algo", "module", "name", "asked"), CALLED)
def test_the_usual_fit_calls_the_kernel_of_its_package(monkeypatch, algo, module, name, asked):
    assert called(monkeypatch, module, name, algo=algo, **asked, **TARGETS.get(algo, {}))


def test_a_kernel_that_a_fit_does_not_call_is_found(monkeypatch):
    # It was so with DP-AGD's one kernel and the logistic loss.
    few = {"algo": "dp-agd", "params": {"steps": 3}}
    assert not called(monkeypatch, "dpcore_dp_agd.loss_line", "line_margins", **few)
    assert called(monkeypatch, "dpcore_dp_agd.loss_line", "line_margins", loss="hinge-svm", **few)
