"""Private bounds in a fit: released first, from the rows trained on, out of its own budget."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import fit, load_model
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.fitting import run, run_state
from dpcore.fitting.rows import run_rows
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import TableSession, dataset_from_arrays
from dpcore_tables.bounds import step as private_bounds
from dpcore_tables.bounds.choice import CountNoise, bounds_of
from dpcore_tables.bounds.step import SHARE

RELATIONS = ("add-or-remove-one", "replace-one")
N = 5000
DRAW = np.random.default_rng(3)
X = np.column_stack([DRAW.normal(40, 10, N), DRAW.exponential(3e4, N)])
Y = np.where(X[:, 0] + DRAW.normal(0, 5, N) > 40, 1, -1)


def waiting(rows=slice(None), **options):
    return dataset_from_arrays(X[rows], Y[rows], private_bounds=True, row_norm=None, **options)


FEW = {"steps": "3"}
QUICK = Settings("dp-gd", params=FEW)


def fitted(settings, sessions=None):
    """Return the model of a fit, whose sessions are kept in a list."""
    on_release = None if sessions is None else sessions.append
    return Run(make_plan(settings), waiting(), on_release=on_release).model()


class RecordingSession(TableSession):
    """A session that keeps what it released, but for what a dry run did."""

    released: list = []

    def release(self, query, mechanism):
        value = super().release(query, mechanism)
        if self._noise.seeded:
            return value
        self.released.append((query.kind, mechanism.scale(query.sensitivity(self.relation)), value))
        return value


@pytest.fixture
def released(monkeypatch):
    RecordingSession.released = []
    monkeypatch.setattr(run_state, "TableSession", RecordingSession)
    return RecordingSession.released


def charges_of(model, sessions):
    """Raise AssertionError unless bounds and fit are charged to one budget, in one ledger."""
    privacy, (first, last) = model.privacy, (sessions[0].ledger, sessions[-1].ledger)
    assert last == first and [e.kind for e in first].count("bounds") == 1
    assert first[0].kind == "bounds"
    assert [entry.index for entry in last] == list(range(len(last))) and len(last) > 1
    budget, share = Fraction(privacy["budget"]), SHARE * Fraction(privacy["budget"])
    assert 0.999 * share < Fraction(first[0].cost) <= share * (1 + Fraction(1, 2**40))
    rest = sum(Fraction(entry.cost) for entry in last[1:])
    assert Fraction(privacy["spent"]) <= budget and rest <= budget - share * Fraction(999, 1000)
    assert abs(Fraction(privacy["spent"]) - rest - Fraction(first[0].cost)) < budget / 10**9
    assert privacy["releases"]["bounds"] == 1 == model.ledger[0]["count"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("accountant", "mechanism"),
    [("gdp", "Gaussian"), ("zcdp", "Gaussian"), ("rdp", "Gaussian"), ("pure", "Geometric")],
)
def test_bounds_are_charged_to_the_runs_own_budget(accountant, mechanism, relation):
    sessions, delta = [], 0.0 if accountant == "pure" else 1e-6
    budget = {"epsilon": 2.0, "delta": delta, "accountant": accountant, "relation": relation}
    own = {} if accountant == "pure" else {"algo": "dp-gd", "params": FEW}
    settings = Settings(**budget, **own)
    model = fitted(settings, sessions)
    charges_of(model, sessions)
    assert sessions[0].ledger[0].mechanism == mechanism
    assert model.privacy["private"] and model.privacy["epsilon"] == 2.0
    assert model.privacy["accountant"] == accountant
    # Geometric noise of so small a share shows the rows in some fits only.
    age, income = model.schema.features
    assert -1.0 <= age.lower < age.upper < 400 and -1.0 <= income.lower < income.upper < 2e6


def test_a_share_that_is_not_charged_is_found(monkeypatch):
    right = run.RunSteps.before

    def unspent(steps, state, session):
        state = right(steps, state, session)
        return replace(state, accountant=state.facts.accountant)

    monkeypatch.setattr(run.RunSteps, "before", unspent)
    sessions = []
    model = fitted(QUICK, sessions)
    with pytest.raises(AssertionError):
        charges_of(model, sessions)


def follow_from(model, released):
    """Raise AssertionError unless the model's bounds follow from what the session released."""
    ((kind, scale, counts),) = released
    assert kind == "bounds"
    added = CountNoise(float(scale.over(1.0, 0)), True, 2)
    for column, own in zip(model.schema.features, counts.reshape(2, -1), strict=True):
        assert (column.lower, column.upper) == bounds_of(own, added, None, None)


def test_bounds_follow_from_what_the_door_gave_out(released):
    follow_from(fitted(QUICK), released)


def test_bounds_that_are_read_off_the_rows_are_found(released, monkeypatch):
    ends = [(column.min(), column.max()) for column in X.T]
    monkeypatch.setattr(private_bounds, "bounds_of", lambda *_: ends[0])
    with pytest.raises(AssertionError):
        follow_from(fitted(QUICK), released)


def test_the_statement_names_the_columns_and_the_share(tmp_path):
    quick = {"algo": "dp-gd", "params": FEW, "row_norm": None}
    model = fit(X, Y, private_bounds=True, **quick)
    sentence = model.privacy["sentence"]
    assert model.privacy["private_bounds"] == {"columns": ["x1", "x2"], "share": 0.1}
    assert "bounds of 'x1', 'x2' were not public: they were released from the rows" in sentence
    assert "for 10% of the same budget" in sentence
    assert model.report["private_bounds"] == model.privacy["private_bounds"]
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.privacy == model.privacy and not again.schema.unbounded
    assert again.released_bounds == {c.name: (c.lower, c.upper) for c in model.schema.features}
    assert "<th>Bounds released</th><td>x1 " in again._repr_html_()
    public = fit(X, Y, bounds=(0, 100), **quick)
    assert "private_bounds" not in public.privacy and not public.released_bounds
    assert "released_bounds" not in public.report
    assert "Bounds released" not in public._repr_html_()


def test_bounds_that_no_rows_stand_behind_are_warned_of():
    quick = {"algo": "dp-gd", "params": FEW, "row_norm": None}
    told = r"no rows were seen above .* in 'x1' \(-1 to 1 is the default\), 'x2' .*: state bounds"
    with pytest.warns(UserWarning, match=told):
        model = fit(X[:40], Y[:40], private_bounds=True, **quick)
    assert model.privacy["private_bounds"]["unseen"] == ["x1", "x2"]
    assert "x1 -1 to 1 (the default); x2 -1 to 1 (the default)" in model._repr_html_()


def test_a_target_has_private_bounds_too():
    """Predictions are in the target's own unit, between bounds that were released."""
    label = {"kind": "label", "lower": "private", "upper": "private"}
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 80}, "y": label}
    target = 1e4 + 1e3 * X[:, 0]
    asked = {"algo": "dp-gd", "loss": "ridge", "epsilon": 5.0, "seed": 1}
    model = fit(X[:, :1], target, schema={"columns": columns}, **asked)
    label = model.schema.label
    assert model.released_bounds == {"y": (label.lower, label.upper)}
    assert 1e4 < model.schema.label.lower < 4e4 and 6e4 < model.schema.label.upper < 1e5
    assert abs(np.median(model.predict(X[:, :1])) - np.median(target)) < 1e4


def test_rows_held_out_are_not_in_the_release(tmp_path, monkeypatch):
    rows = "\n".join(f"{j % 7},{j % 2}" for j in range(400))
    (tmp_path / "rows.csv").write_text(f"x,y\n{rows}\n")
    (tmp_path / "test.csv").write_text("x,y\n" + "1e9,0\n-1e9,1\n" * 300)
    (tmp_path / "schema.toml").write_text(
        '[columns]\nx = { kind = "numeric" }\ny = { kind = "label", classes = [0, 1] }\n'
    )
    request = DataRequest(
        str(tmp_path / "rows.csv"),
        tmp_path / "schema.toml",
        test=tmp_path / "test.csv",
        private_bounds=True,
    )
    plan = make_plan(replace(QUICK, epsilon=50.0, seed=1))
    trained = Run.train(plan, request)
    (column,) = trained.model.schema.features
    assert -10 < column.lower <= 0 and 6 <= column.upper < 10  # The rows of the test are at 1e9.
    assert trained.diagnostics["test_accuracy"] is not None

    asked = []
    original = run_rows.unbounded_rows

    def watched(dataset):
        asked.append(dataset.X.shape[0])  # No rows, for the dry run, and then the kept ones.
        return original(dataset)

    monkeypatch.setattr(run_rows, "unbounded_rows", watched)
    counted = SimpleNamespace(exact_metrics=lambda _, __, train, test: {"rows": len(train.y)})
    monkeypatch.setattr(run, "metrics_asked", lambda *_: counted)
    part = DataRequest(
        str(tmp_path / "rows.csv"),
        tmp_path / "schema.toml",
        test_fraction=0.5,
        private_bounds=True,
    )
    trained = Run.train(plan, part)
    assert asked == [0, trained.diagnostics["rows"]] and 100 < asked[1] < 300


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (Settings("sgd-adv", delta=1e-6), "fixed schedule"),
        (Settings("objpert"), "bounds one release"),
        (Settings("a-ddp"), "rows stay with users"),
        (Settings("output-nr", targets={"target_accuracy": 0.7}), "epsilon is an output"),
        (Settings("nonprivate"), "is no filter of a budget"),
        (Settings("dp-agd", as_published=True), "authors' code"),
    ],
    ids=lambda value: getattr(value, "algo", None),
)
def test_what_cannot_leave_a_share_is_refused_before_anything_is_spent(settings, reason):
    def no_release(session):
        raise AssertionError("something was released")

    with pytest.raises(InvalidInputError, match=f"bounds of column 'x1' are private.*{reason}"):
        Run(make_plan(settings), waiting(), on_release=no_release).model()


@pytest.mark.parametrize("algo", ["nsgd", "psgd", "outpert-gd", "rsgd-ar", "bolt-on"])
def test_a_pass_over_a_public_number_of_rows_leaves_a_share(algo):
    # The dry run had no rows, and was refused as a table of other rows.
    few = {"epsilon": 4.0, "delta": 1e-6, "accountant": "rdp", "relation": "replace-one"}
    model = fit(X[:500], Y[:500], private_bounds=True, row_norm=None, algo=algo, **few)
    assert model.privacy["releases"]["bounds"] == 1 and model.report["n_train"] == 500
    assert model.privacy["spent"] <= model.privacy["budget"]


@pytest.mark.parametrize(
    "asked",
    [
        {"algo": "dp-gd", "accountant": "pure", "delta": 0.0},
        {"algo": "sgd-ma", "accountant": "gdp"},
        {"algo": "dp-gd", "params": {"clip_unit": "true"}},
        {"algo": "dp-gd", "epsilon": 1e-9, "delta": 1e-12},
    ],
)
def test_a_run_that_refuses_itself_is_not_charged_for_bounds(asked):
    columns = [{"kind": "numeric", "lower": "private", "upper": "private"} for _ in "ab"]
    schema = {
        "columns": {"x1": columns[0], "x2": columns[1], "y": {"kind": "label", "classes": [0, 1]}}
    }
    with pytest.raises(DpcoreError) as refused:
        fit(X, Y, schema=schema, **asked)
    assert not any("Charged" in note for note in getattr(refused.value, "__notes__", ()))
