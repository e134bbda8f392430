"""The defaults of RSGD-AR and its preset: functions of public facts."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_rsgd_ar.nsgd import Nsgd
from dpcore_rsgd_ar.outpert_gd import OutpertGd
from dpcore_rsgd_ar.psgd import Psgd
from dpcore_rsgd_ar.rsgd_ar import RsgdAr

REPLACE = NeighboringRelation.REPLACE_ONE


def test_defaults_depend_on_public_facts_alone(run):
    chosen = []
    for seed in (1, 2):
        _, solution = run(RsgdAr(), make_rows(400, seed=seed))
        chosen.append(solution.details)
    assert chosen[0] == chosen[1]


@pytest.mark.slow
def test_more_signal_gives_a_longer_run_and_less_l2(run):
    steps, l2 = [], []
    for epsilon in (0.1, 1.0, 10.0, 1e4):
        accountant = SingleReleaseAccountant.from_budget(epsilon, 1e-6)
        problem = make_problem(make_rows(2000), REPLACE, Logistic(), l2=0.0)
        l2.append(RsgdAr().default_l2(problem, accountant))
        _, solution = run(RsgdAr(), make_rows(2000), accountant, l2=1e-6)
        details = solution.details
        steps.append(details["step_size"] * details["batches"] * details["row_bound"] ** 2)
    assert steps == sorted(steps) and l2 == sorted(l2, reverse=True)


def test_fit_takes_the_default_l2_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) / 3
    y = np.where(X @ [1.0, -1.0, 0.5] > 0, 1, -1)
    options = {"algo": "rsgd-ar", "relation": "replace-one", "epsilon": 2.0, "seed": 1}
    model = fit(X, y, **options)
    assert model.l2 == model.details["l2"] > 0
    assert model.privacy["accountant"] == "single" and model.privacy["delta"] > 0
    assert (model.predict(X) == y).mean() > 0.9
    assert fit(X, y, l2=0.25, **options).l2 == 0.25
    with pytest.raises(InvalidInputError, match="strong convexity"):
        fit(X, y, l2=0.0, **options)
    with pytest.raises(InvalidInputError, match="no guarantee under add-or-remove-one"):
        fit(X, y, algo="rsgd-ar", relation="add-or-remove-one")
    assert fit(X, y, algo="rsgd-ar").privacy["neighboring_relation"] == "replace-one"


def test_the_papers_preset_has_its_batch_and_l2():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 3)) / 3
    y = np.where(X[:, 0] > 0, 1, -1)
    model = fit(X, y, algo="rsgd-ar", relation="replace-one", preset="paper", seed=1)
    assert model.details["batches"] == 2 and model.details["batch_size"] == 4500
    assert (
        model.details["epochs"] == 50
        and model.details["tau"] == 10
        and model.details["clip"] == 1.0
    )
    assert model.privacy["conversion"] == "mironov"


@pytest.mark.parametrize("row_norm", [1.0, 4.125, 6.5])
def test_the_papers_preset_has_unit_rows_and_its_lambda_on_any_rows(row_norm):
    # Rows of another bound had another l2: .00106 on bank, .0026 on KDD. The model is of the
    # problem's rows, and so is the l2 that it states.
    model = fit(np.zeros((8200, 3)), np.resize([-1, 1], 8200), row_norm=row_norm, algo="rsgd-ar",
                preset="paper", seed=1)  # fmt: skip
    assert model.details["row_bound"] == 1.0
    assert model.l2 / row_norm**2 == pytest.approx(0.001)


@pytest.mark.parametrize("kind", [Nsgd, Psgd, OutpertGd])
def test_presets_of_the_relatives_have_unit_rows_and_the_papers_lambda(kind, run):
    values = {k: v for k, v in kind.presets["paper"].items() if not k.startswith("accountant")}
    optimizer = kind(**values)
    problem = make_problem(make_rows(300), REPLACE, Logistic(), l2=0.0)
    accountant = SingleReleaseAccountant.from_budget(1.0, 1e-6)
    l2 = optimizer.default_l2(problem, accountant)
    assert l2 == 0.001 * 1.5**2
    small = replace(optimizer, batch_size=20) if "batch_size" in values else optimizer
    session, solution = run(small, l2=l2)
    assert solution.details["row_bound"] == 1.0 and solution.details["epochs"] == 50
    (query, _), *_ = session.parts
    assert query.facts.mu == pytest.approx(0.001) and query.facts.row_norm == 1.0


@pytest.mark.parametrize("algo", ["nsgd", "psgd", "outpert-gd"])
def test_presets_of_the_relatives_fit_a_model_of_the_problems_rows(algo):
    # Rows of norm 1, and of twice that, which are held to 1: half the model. Noise of about 0.001.
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(9000, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (X[:, 0] > 0).astype(int)
    asked = {"algo": algo, "preset": "paper", "epsilon": 1e5, "classes": (0, 1), "intercept": False}
    one = fit(X, y, row_norm=1.0, **asked)
    two = fit(2 * X, y, row_norm=2.0, **asked)
    assert np.allclose(two.w, one.w / 2, atol=0.02) and abs(one.w[0]) > 1
    assert two.privacy["conversion"] == ("mironov" if algo != "outpert-gd" else "joint-convexity")
