"""Fits by the losses: statsmodels' coefficients, and what a model and its file say of them."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import BadRowError, DataError, InvalidInputError, ModelFileError

EXACTLY = {"algo": "nonprivate", "accountant": "none", "bounds": (0, 1), "row_norm": None}
PUBLIC = {"bounds": (0, 1), "target_bounds": (0, 12), "epsilon": 2.0, "delta": 1e-6}
PUBLIC |= {"n0": 400, "row_norm": None}
_i = np.arange(400)
X = np.column_stack([(_i * 37 % 101) / 100.0, (_i * 53 % 97) / 96.0])
MEAN, U = np.exp(0.3 + 1.2 * X[:, 0] - 0.8 * X[:, 1]), (_i * 71 % 199) / 198.0
COUNT = np.minimum(np.floor(MEAN * 2 * U + 0.5), 12.0)
AMOUNT = np.minimum(MEAN * (0.2 + 1.6 * U), 12.0)
EXPOSURE = 0.25 + (_i * 29 % 64) / 64.0
STATSMODELS = {
    # statsmodels 0.15.0: GLM(y, add_constant(X), family).fit(tol=1e-13).params with the families
    # Poisson(), NegativeBinomial(alpha=0.5) and Gamma(link=Log()); the constant first.
    "poisson": [0.27674862, 1.16247263, -0.73972099],
    "negative-binomial": [0.28001683, 1.16513581, -0.74978064],
    "gamma": [0.29656952, 1.1666387, -0.76500889],
}
OVERDISPERSION = {"negative-binomial": {"loss.overdispersion": 0.5 * 12 / 2}}


@pytest.mark.some_fast
@pytest.mark.parametrize("loss", STATSMODELS)
def test_the_minimum_is_that_of_statsmodels(loss):
    y = AMOUNT if loss == "gamma" else COUNT
    params = OVERDISPERSION.get(loss, {})
    model = dpcore.fit(X, y, loss=loss, target_bounds=(0, 12), params=params, **EXACTLY)
    found = [model.intercept_, *model.coef_]
    np.testing.assert_allclose(found, STATSMODELS[loss], atol=1e-4)
    means = np.exp(model.intercept_ + X @ model.coef_)  # parameters are rounded to a grid for it
    np.testing.assert_allclose(model.predict(X), means, rtol=1e-4)


def test_a_factor_of_the_unit_moves_the_intercept_alone():
    small, large = (
        dpcore.fit(X, k * COUNT, loss="poisson", target_bounds=(0, 12 * k), **EXACTLY)
        for k in (1, 50)
    )
    np.testing.assert_allclose(large.coef_, small.coef_, atol=1e-9)
    assert large.intercept_ == pytest.approx(small.intercept_ + np.log(50), abs=1e-9)


EXPOSED = {
    # statsmodels 0.15.0, params of GLM(y, add_constant(X), family, ...).fit(tol=1e-13):
    # Poisson(), exposure=EXPOSURE. The loss with the exposure e, e m - t log m, is e times that of
    # the rate t / e.
    "poisson": (True, [0.25168355, 1.13387953, -0.01936924]),
    # NegativeBinomial(alpha=0.5 / EXPOSURE), offset=log(EXPOSURE): of the rate r and a alike for
    # all rows, e (r log(r / m) - (r + 1/a) log((1 + a r) / (1 + a m))).
    "negative-binomial": (True, [0.25337893, 1.13733083, -0.02751934]),
    # NegativeBinomial(alpha=0.5), offset=log(EXPOSURE): what no weight of a rate gives.
    "negative-binomial, exposure": (True, [0.19501459, 1.17375035, 0.16063942]),
    # Gamma(link=Log()), offset=log(EXPOSURE): the deviance of t is that of the rate.
    "gamma": (False, [0.16650038, 1.15251323, 0.37274696]),
    # Gamma(link=Log()) of AMOUNT / EXPOSURE, var_weights=EXPOSURE.
    "gamma, sums": (True, [0.26932488, 1.13989566, -0.04322608]),
}


def by_statsmodels():
    """Return the coefficients that statsmodels finds, by the tables above and their cases."""
    why = "statsmodels is not installed: its coefficients are those that are written down here"
    glm = pytest.importorskip("statsmodels.genmod.generalized_linear_model", reason=why)
    poisson, binomial = glm.families.Poisson(), glm.families.NegativeBinomial
    gamma = glm.families.Gamma(glm.families.links.Log())
    exposed, weighted = {"offset": np.log(EXPOSURE)}, {"var_weights": EXPOSURE}
    asked = {
        "poisson": (COUNT, poisson, {}),
        "negative-binomial": (COUNT, binomial(alpha=0.5), {}),
        "gamma": (AMOUNT, gamma, {}),
    }
    asked_exposed = {
        "poisson": (COUNT, poisson, {"exposure": EXPOSURE}),
        "negative-binomial": (COUNT, binomial(alpha=0.5 / EXPOSURE), exposed),
        "negative-binomial, exposure": (COUNT, binomial(alpha=0.5), exposed),
        "gamma": (AMOUNT, gamma, exposed),
        "gamma, sums": (AMOUNT / EXPOSURE, gamma, weighted),
    }
    design = np.column_stack([np.ones(400), X])
    for table in (asked, asked_exposed):
        for case, (y, family, more) in table.items():
            table[case] = glm.GLM(y, design, family, **more).fit(tol=1e-13).params
    return asked, asked_exposed


@pytest.mark.slow
def test_statsmodels_finds_what_is_written_down_of_it():
    for written, found in zip(
        (STATSMODELS, {case: params for case, (_, params) in EXPOSED.items()}),
        by_statsmodels(),
        strict=True,
    ):
        assert written.keys() == found.keys()
        for case, params in written.items():
            np.testing.assert_allclose(found[case], params, atol=2e-8, err_msg=case)


@pytest.mark.some_fast
@pytest.mark.parametrize("case", EXPOSED)
def test_an_exposure_is_a_rate_and_mostly_its_weight(case):
    (loss, _, how), (is_weighted, expected) = case.partition(", "), EXPOSED[case]
    y = (AMOUNT if loss == "gamma" else COUNT) / EXPOSURE
    params = {"loss.overdispersion": 0.5 * 16 / 2} if loss in OVERDISPERSION else {}
    params |= {"loss.exposure": True} if how == "exposure" else {}
    words = {"loss": loss, "target_bounds": (0, 16), "params": params, **EXACTLY}
    weights = {"sample_weight": dpcore.Weights(EXPOSURE, bound=1.5)}
    model = dpcore.fit(X, y, **words, **(weights if is_weighted else {}))
    found = [model.intercept_, *model.coef_]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert model.weight_bound == (1.5 if is_weighted else None) and model.log_link
    # The twin that takes a weight where there is none, or none where there is one.
    other = dpcore.fit(X, y, **words, **({} if is_weighted else weights))
    assert abs(other.intercept_ - expected[0]) > 0.01


@pytest.mark.parametrize("loss", STATSMODELS)
def test_an_exposure_without_a_bound_or_of_nothing_is_refused(loss):
    words = {"loss": loss, **PUBLIC}
    rates = COUNT / EXPOSURE
    with pytest.raises(InvalidInputError, match="needs a public bound"):
        dpcore.fit(X, rates, sample_weight=dpcore.Weights(EXPOSURE, bound=None), **words)
    for exposure in (-EXPOSURE, np.where(EXPOSURE < 0.3, np.inf, EXPOSURE)):
        with pytest.raises(DataError, match="a finite number >= 0 for each row") as told:
            dpcore.fit(X, rates, sample_weight=dpcore.Weights(exposure, bound=2.0), **words)
        assert not hasattr(told.value, "__notes__")  # nothing was charged
    none = np.where(EXPOSURE < 0.3, np.inf, rates)  # t / 0
    with pytest.raises(BadRowError, match="the label is not a finite number"):
        weights = dpcore.Weights(EXPOSURE, bound=2.0)
        dpcore.fit(X, none, sample_weight=weights, **words)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_algorithms_that_need_a_slope_refuse_exposures_too(loss):
    words = {"loss": loss, "algo": "objpert", **PUBLIC}
    weights = dpcore.Weights(EXPOSURE, bound=2.0)
    with pytest.raises(InvalidInputError, match="objpert"):
        dpcore.fit(X, COUNT / EXPOSURE, sample_weight=weights, **words)


def test_predictions_are_held_to_the_bounds_of_the_target():
    model = dpcore.fit(X, COUNT, loss="poisson", target_bounds=(0, 12), **EXACTLY)
    steep, flat = (replace(model, w=model.w + [0.0, 0.0, far]) for far in (900.0, -900.0))
    assert (steep.predict(X) == 12.0).all() and (steep.decision_function(X) == 12.0).all()
    assert (flat.predict(X) == 0.0).all()


def with_another_link(path):
    """Give a model's file another link, with a checksum that fits."""
    content = json.loads(path.read_text()) | {"link": "logit"}
    del content["checksum"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    path.write_text(json.dumps(content))


def test_the_file_of_a_model_keeps_its_link(tmp_path):
    model = dpcore.fit(X, COUNT, loss="poisson", seed=1, **PUBLIC)
    model.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["link"] == "log"
    again = dpcore.load_model(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), model.predict(X)) and again.log_link
    assert "the mean, by a log link, of a number from 0 to 12 by poisson loss" in repr(again)
    with_another_link(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="Expected 'link' in .* to be log, or left out"):
        dpcore.load_model(tmp_path / "model.json")
    ridge = dpcore.fit(X, COUNT, loss="ridge", seed=1, **PUBLIC)
    ridge.save(tmp_path / "ridge.json")
    assert "link" not in json.loads((tmp_path / "ridge.json").read_text())


def test_a_count_is_no_class():
    model = dpcore.fit(X, COUNT, loss="poisson", seed=1, **PUBLIC)
    with pytest.raises(InvalidInputError, match="predicts a number, which has no probabilities"):
        model.predict_proba(X)
    notes = " ".join(model.summary().notes)
    assert "adds to the natural logarithm of the mean of" in notes
    assert "what one unit more multiplies the mean by" in notes
    at_zero = np.log(model.predict(np.zeros((1, 2)))[0])
    assert model.summary().coefficients[-1].per_unit == pytest.approx(at_zero, abs=1e-4)
    moved = np.log(model.predict(np.array([[0.5, 0.0]]))[0]) - at_zero
    assert model.summary().coefficients[0].per_unit == pytest.approx(2 * moved, abs=1e-4)


@pytest.mark.parametrize("loss", STATSMODELS)
@pytest.mark.parametrize(("bounds", "found"), [((1, 12), "found 1"), ((-1, 12), "found -1")])
def test_a_target_that_does_not_begin_at_0_is_refused(loss, bounds, found):
    with pytest.raises(InvalidInputError, match=f"{loss} is for counts.*lower = 0.*{found}") as it:
        dpcore.fit(X, COUNT, loss=loss, **{**PUBLIC, "target_bounds": bounds})
    assert not hasattr(it.value, "__notes__")  # nothing was charged


def test_the_upper_bound_may_be_released_and_the_lower_one_may_not():
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 1}}
    frame = pd.DataFrame({"x": np.resize(X[:, 0], 4000), "y": np.resize(COUNT, 4000)})
    words = {"loss": "poisson", "epsilon": 4.0, "delta": 1e-6, "also": [dpcore.PrivateBounds()]}
    label = {"kind": "label", "lower": 0, "upper": "private"}
    model = dpcore.fit(frame, schema={"columns": {**columns, "y": label}}, seed=1, **words)
    assert model.released_bounds["y"][0] == 0
    assert model.predict(frame).mean() == pytest.approx(COUNT.mean(), rel=0.1)
    label = {**label, "lower": "private"}
    with pytest.raises(InvalidInputError, match="expected lower = 0 of the label 'y'.*found none"):
        dpcore.fit(frame, schema={"columns": {**columns, "y": label}}, **words)


def test_classes_are_refused():
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 1}}
    columns["y"] = {"kind": "label", "classes": ["no", "yes"]}
    frame = pd.DataFrame({"x": X[:, 0], "y": np.where(COUNT > 1, "yes", "no")})
    with pytest.raises(
        InvalidInputError, match="poisson does not fit a label with two .* or a label with bounds"
    ):
        dpcore.fit(frame, schema={"columns": columns}, loss="poisson")


@pytest.mark.slow
def test_a_private_fit_nears_the_minimum_and_tells_of_rows_held_out():
    rows = np.resize(np.arange(400), 20_000)
    words = {**PUBLIC, "n0": 20_000, "epsilon": 4.0}
    also = [dpcore.Evaluation(share=0.2, test_fraction=0.4)]
    model = dpcore.fit(X[rows], COUNT[rows], loss="poisson", seed=1, also=also, **words)
    np.testing.assert_allclose([model.intercept_, *model.coef_], STATSMODELS["poisson"], atol=0.25)
    rmse = np.sqrt(np.mean((model.predict(X) - COUNT) ** 2))
    told = model.evaluation["rmse"]
    assert told["low"] < rmse < told["high"] and told["value"] == pytest.approx(rmse, rel=0.1)
    assert model.evaluation["mean"]["value"] == pytest.approx(COUNT.mean(), rel=0.1)
