"""Metrics of rows held out, released within the budget of a run: charged once, set aside first."""

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from step_words import settings

from dpcore import load_model
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.fitting import run
from dpcore.fitting.rows.run_rows import RunRows
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import TableSession, load_registry
from dpcore_report.evaluation import held_out_counts
from dpcore_report.evaluation.text import evaluation_in_words

SCHEMA = """
rows = 2000
[[columns]]
name = "x"
kind = "numeric"
lower = 0
upper = 1
[[columns]]
name = "y"
kind = "label"
classes = {classes}
"""


def rows_file(folder, n=2000, classes=("a", "b"), signal=8.0):
    rng = np.random.default_rng(0)
    x = rng.random(n)
    if len(classes) == 2:
        y = rng.random(n) < 1 / (1 + np.exp(-signal * (x - 0.5)))
    else:
        y = (x * len(classes)).astype(int)
    lines = [f"{a},{classes[int(b)]}" for a, b in zip(x, y, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    (folder / "schema.toml").write_text(SCHEMA.format(classes=json.dumps(list(classes))))
    return str(folder / "rows.csv"), folder / "schema.toml"


def trained(folder, fraction=0.5, share=0.2, epsilon=2.0, classes=("a", "b"), **others):
    loss = "logistic" if len(classes) == 2 or others.get("multiclass") else "softmax"
    values = {"algo": "dp-gd", "loss": loss, "delta": 1e-6, "params": {"steps": "10"}, **others}
    asked = settings(epsilon=epsilon, evaluate_share=share, **values)
    data, schema = rows_file(folder, classes=classes)
    return Run.train(make_plan(asked), DataRequest(data, schema, test_fraction=fraction))


def test_one_release_is_charged_last_and_within_the_budget(tmp_path):
    model = trained(tmp_path).model
    privacy, last = model.privacy, model.ledger[-1]
    assert (last["kind"], last["count"]) == ("evaluation", 1)
    assert last["cost"] == pytest.approx(0.2 * privacy["budget"], rel=1e-6)
    total = sum(Fraction(entry["cost"]) for entry in model.ledger)
    assert total <= Fraction(privacy["budget"]) * (1 + Fraction(1, 10**9))
    assert privacy["spent"] == pytest.approx(float(total))
    assert (privacy["epsilon"], privacy["evaluation"]) == (2.0, {"share": 0.2})
    assert "released within the budget" in evaluation_in_words(model.evaluation, private=True)[0]
    assert "released from rows held out, for 0.2 of the same budget" in privacy["sentence"]


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "rdp", "pure"])
def test_every_adaptive_filter_holds_both(tmp_path, accountant, relation):
    gamma = {"algo": "outpert", "params": {}, "delta": 0.0, "use": {"noise": "gamma"}}
    pure = gamma if accountant == "pure" else {}
    model = trained(tmp_path, accountant=accountant, relation=relation, **pure).model
    assert model.ledger[-1]["kind"] == "evaluation"
    assert model.privacy["spent"] <= model.privacy["budget"]


@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "rdp", "pure"])
def test_an_evaluation_of_an_epsilon_of_its_own_has_that_and_no_less(tmp_path, accountant):
    gamma = {"algo": "outpert", "params": {}, "delta": 0.0, "use": {"noise": "gamma"}}
    pure = gamma if accountant == "pure" else {}
    asked = {"accountant": accountant, "share": None, "evaluate_epsilon": 1.5, **pure}
    model = trained(tmp_path, **asked).model
    privacy, last = model.privacy, model.ledger[-1]
    assert (last["kind"], privacy["epsilon"], privacy["evaluation"]["epsilon"]) == (
        "evaluation",
        2.0,
        1.5,
    )
    assert "(an epsilon of 1.5 by themselves)" in privacy["sentence"]
    # A run of that epsilon, all of it for one release, has the budget that this one took.
    filter_of = load_registry().load("accountant", accountant)
    alone = filter_of.from_budget(1.5, privacy["delta"])
    if accountant == "rdp":  # at the order of the run
        whole = filter_of.from_budget(2.0, privacy["delta"])
        alone = filter_of.at_order(1.5, privacy["delta"], whole.order)
    assert last["cost"] == pytest.approx(alone.budget, rel=1e-6)
    assert last["cost"] <= alone.budget * (1 + 1e-9)
    assert privacy["evaluation"]["share"] == pytest.approx(last["cost"] / privacy["budget"])


def test_of_one_against_the_rest_all_fits_and_the_counts_are_within_one_budget(tmp_path):
    asked = {"multiclass": "ovr", "classes": ("a", "b", "c"), "share": 0.25}
    model = trained(tmp_path, epsilon=50.0, **asked).model
    fits = sum(entry["cost"] for entry in model.ledger if entry["kind"] != "evaluation")
    budget = model.privacy["budget"]
    assert model.ledger[-1]["cost"] == pytest.approx(budget / 4, rel=1e-6)
    assert fits == pytest.approx(0.75 * budget, rel=1e-6)
    assert model.privacy["fits"] == 3 and model.privacy["spent"] <= budget
    metrics = model.evaluation
    assert {len(said) for said in metrics["confusion"].values()} == {3}
    assert metrics["accuracy"]["low"] > 0.4


WITHOUT_BOUNDS = SCHEMA.replace("lower = 0\nupper = 1\n", "")


def with_private_bounds(folder, share, **others):
    data, schema = rows_file(folder)
    schema.write_text(WITHOUT_BOUNDS.format(classes='["a", "b"]'))
    values = {"algo": "dp-gd", "delta": 1e-6, "params": {"steps": "10"}, **others}
    asked = settings(epsilon=20.0, evaluate_share=share, **values)
    request = DataRequest(data, schema, test_fraction=0.5, private_bounds=True)
    return Run.train(make_plan(asked), request).model


def test_bounds_and_metrics_and_the_fit_share_one_budget(tmp_path):
    model = with_private_bounds(tmp_path, 0.2)
    kinds = [entry["kind"] for entry in model.ledger]
    assert kinds[0] == "bounds" and kinds[-1] == "evaluation"
    assert model.privacy["spent"] <= model.privacy["budget"]
    assert model.ledger[-1]["cost"] == pytest.approx(0.2 * model.privacy["budget"], rel=1e-6)
    assert model.evaluation["accuracy"]["value"] > 0.7
    assert model.evaluation["held_out_rows"]["value"] == pytest.approx(1000, abs=150)


def test_shares_of_bounds_and_metrics_that_are_too_much_are_refused_before_a_charge(tmp_path):
    told = "The private_bounds would take 0.1 of the budget and the evaluation 0.95: expected"
    with pytest.raises(InvalidInputError, match=told) as caught:
        with_private_bounds(tmp_path, 0.95)  # The bounds take a tenth.
    assert not any("charged" in note for note in getattr(caught.value, "__notes__", ()))


def test_metrics_are_in_the_report_and_in_the_file(tmp_path):
    training = trained(tmp_path, epsilon=50.0)
    metrics = training.model.evaluation
    training.model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").evaluation == metrics
    assert training.report()["private_evaluation"] == metrics
    assert training.diagnostics == {}  # no exact metrics beside them
    accuracy = metrics["accuracy"]
    assert accuracy["low"] < accuracy["value"] < accuracy["high"] < accuracy["low"] + 0.1
    assert accuracy["value"] > metrics["constant_accuracy"]["value"] + 0.1
    assert metrics["held_out_rows"]["value"] == pytest.approx(1000, abs=150)
    assert metrics["auc_of_bins"]["value"] > 0.8
    assert len(metrics["calibration"]) == 16
    assert metrics["verdict"] is None


def test_a_model_below_the_constant_is_told_so(tmp_path, monkeypatch):
    class Mistaken(held_out_counts.ScoreCounts):
        """Counts of the model that says the other class."""

        def __post_init__(self):
            object.__setattr__(self, "w", -self.w)
            super().__post_init__()

    monkeypatch.setattr(held_out_counts, "ScoreCounts", Mistaken)
    model = trained(tmp_path, epsilon=50.0).model
    assert "below the constant model, beyond what noise" in model.evaluation["verdict"]
    # A fit of weighted classes does not aim at accuracy.
    weighted = trained(tmp_path, epsilon=50.0, class_weight={"a": 2.0}).model.evaluation
    assert weighted["accuracy"]["high"] < weighted["constant_accuracy"]["low"]
    assert weighted["verdict"] is None


def test_of_several_classes_there_are_confusion_counts(tmp_path):
    metrics = trained(tmp_path, epsilon=50.0, classes=("a", "b", "c")).model.evaluation
    assert {len(said) for said in metrics["confusion"].values()} == {3}
    assert "auc_of_bins" not in metrics and "calibration" not in metrics
    assert {*metrics["auc_of_class"]} == {"a", "b", "c"} and metrics["macro_auc"]["value"] > 0.7
    assert any("macro AUC" in line for line in evaluation_in_words(metrics, private=True))
    counts = sum(each["value"] for of in metrics["confusion"].values() for each in of.values())
    assert counts == pytest.approx(metrics["held_out_rows"]["value"], rel=0.05)


def of_number(folder, y, epsilon=50.0, share=0.3, **others):
    """Return a model, with its evaluation, of y in [-20, 120] by a feature, ``x`` or noise."""
    x = others.pop("x", np.random.default_rng(99).random(y.size))
    lines = [f"{a},{b}" for a, b in zip(x, y, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    label = 'kind = "label"\nlower = -20\nupper = 120\n'
    text = SCHEMA.partition('kind = "label"')[0] + label
    (folder / "schema.toml").write_text(text)
    values = {"algo": "dp-gd", "loss": "ridge", "delta": 1e-6, "evaluate_share": share, **others}
    request = DataRequest(str(folder / "rows.csv"), folder / "schema.toml", test_fraction=0.5)
    return Run.train(make_plan(settings(epsilon=epsilon, **values)), request).model


@pytest.mark.slow
def test_of_a_number_there_are_errors_and_a_verdict(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.random(20_000)
    model = of_number(tmp_path, 100 * x + rng.normal(0, 5, x.size), x=x, seed=1)
    metrics = model.evaluation
    assert metrics["bounds"] == [-20, 120]
    spread = (100**2 / 12 + 5**2) ** 0.5
    assert metrics["mean_rmse"]["low"] < spread < metrics["mean_rmse"]["high"]
    assert metrics["rmse"]["low"] < 10 and metrics["rmse"]["high"] < 20
    assert metrics["mean"]["low"] < 50 < metrics["mean"]["high"]
    assert metrics["r2"]["low"] > 0.5 and "The model is better than always" in metrics["verdict"]
    said = "\n".join(evaluation_in_words(metrics, private=False))
    assert "NOT PRIVATE, as the model is not" in said and "within the budget" not in said
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").evaluation == metrics


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_of_features_of_noise_the_model_is_not_preferred(tmp_path, seed):
    # Errors of the model were clipped at half of the range, those of the mean were not: at this
    # budget the model seemed better by a half.
    y = np.where(np.random.default_rng(seed).random(8000) < 0.2, -20.0, 110.0)
    metrics = of_number(tmp_path, y, seed=seed).evaluation
    assert re.match("The model is (worse|no better) than always predicting", metrics["verdict"])
    assert -0.1 < metrics["r2"]["value"] < 0 and metrics["r2"]["low"] < 0
    assert metrics["rmse"]["value"] > metrics["mean_rmse"]["value"]


def test_errors_are_those_of_what_predict_says(tmp_path, monkeypatch):
    # Coefficients that predict far beyond the range: without noise to speak of, the metrics are
    # those of predict on the rows held out.
    right, seen = held_out_counts.HeldOutCounts.run, {}

    def steep(self, session, view):
        solution = replace(view.solution, w=np.array([6.0, -2.0]))
        return right(self, session, replace(view, solution=solution))

    opened = RunRows.over

    def over(self, asked, plan):
        seen["rows"] = self.held_out
        return opened(self, asked, plan)

    monkeypatch.setattr(RunRows, "over", over)

    monkeypatch.setattr(held_out_counts.HeldOutCounts, "run", steep)
    x = np.random.default_rng(3).random(4000)
    model = replace(of_number(tmp_path, 140 * x - 20, x=x, epsilon=1e5), w=np.array([6.0, -2.0]))
    rows = seen["rows"]
    said = model.labels(model.margins(rows.X))
    truth = 50 + 70 * rows.y
    assert (said.min(), said.max()) == (-20, 120)
    rmse = np.mean((said - truth) ** 2) ** 0.5
    assert model.evaluation["rmse"]["value"] == pytest.approx(rmse, rel=0.01)
    assert model.evaluation["r2"]["value"] == pytest.approx(1 - (rmse / truth.std()) ** 2, abs=0.03)


def test_a_share_that_was_not_set_aside_is_refused_by_the_filter(tmp_path, monkeypatch):
    # The broken twin: the optimizer has all of the budget. Nothing is drawn of the rows held out.
    monkeypatch.setattr(run.RunSteps, "set_aside", lambda steps, state: state)
    with pytest.raises(BudgetExceededError):
        trained(tmp_path)


def metrics_of(folder, fraction, monkeypatch):
    """Return the metrics where the counts are constants, whatever the rows are."""
    answered = TableSession.release

    def release(self, query, mechanism):
        value = answered(self, query, mechanism)
        return np.linspace(5, 90, value.size) if query.kind == "evaluation" else value

    monkeypatch.setattr(TableSession, "release", release)
    return trained(folder, fraction).model.evaluation


def test_metrics_follow_from_the_released_counts_alone(tmp_path, monkeypatch):
    assert metrics_of(tmp_path, 0.3, monkeypatch) == metrics_of(tmp_path, 0.7, monkeypatch)


def test_an_exact_number_of_rows_is_caught(tmp_path, monkeypatch):
    right, opened, seen = held_out_counts.HeldOutCounts._metrics, RunRows.over, {}

    def over(self, asked, plan):
        seen["rows"] = self.held_out
        return opened(self, asked, plan)

    def exact(self, *args, **kwargs):
        return {**right(self, *args, **kwargs), "held_out_rows": seen["rows"].n_units}

    monkeypatch.setattr(RunRows, "over", over)
    monkeypatch.setattr(held_out_counts.HeldOutCounts, "_metrics", exact)
    assert metrics_of(tmp_path, 0.3, monkeypatch) != metrics_of(tmp_path, 0.7, monkeypatch)


def test_units_have_noise_for_all_of_their_rows(tmp_path):
    data, schema = rows_file(tmp_path)
    text = (tmp_path / "rows.csv").read_text().splitlines()
    with_ids = [f"{line},{i // 4}" for i, line in enumerate(text[1:])]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y,who", *with_ids]) + "\n")
    values = {"algo": "dp-gd", "params": {"steps": "10"}, "evaluate_share": 0.2}
    asked = settings(epsilon=2.0, delta=1e-6, units=True, **values)
    request = DataRequest(data, schema, test_fraction=0.5, unit="who", rows_per_unit=4)
    of_units = Run.train(make_plan(asked), request).model.evaluation["noise_deviation"]
    assert of_units == pytest.approx(4 * trained(tmp_path).model.evaluation["noise_deviation"])


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"fraction": None}, r"--test-fraction \(test_fraction=\) beside"),
        ({"share": 1.0}, "evaluate_share=1.0"),
        ({"evaluate_epsilon": 1.0}, r"\(evaluate_share=\) or --evaluate-epsilon"),
        ({"share": None, "evaluate_epsilon": 2.0}, "evaluate_epsilon=2 < 2, the epsilon of"),
        ({"share": None, "evaluate_epsilon": 0.0}, "evaluate_epsilon=0.0 to be finite and > 0"),
        (
            {"share": None, "evaluate_epsilon": 0.01, "accountant": "rdp"},
            "rdp accountant states more than evaluate_epsilon=0.01",
        ),
        ({"algo": "sgd-adv", "params": {}}, "fixed schedule"),
        ({"algo": "a-ddp", "params": {}}, "rows stay with users"),
        ({"algo": "objpert", "params": {}}, "objpert cannot leave"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_anything_is_charged(
    tmp_path, monkeypatch, others, message
):
    monkeypatch.setattr(TableSession, "release", lambda *_: pytest.fail("a release"))
    with pytest.raises(InvalidInputError, match=message):
        trained(tmp_path, **others)
