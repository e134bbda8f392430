"""The server's side: how the noise is planned, when it ends, and what it learns without noise."""

import math

import numpy as np
import pytest
from pool_users import problem_of
from scipy.optimize import brentq
from scipy.special import ndtr

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, Problem, Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import GdpAccountant, Logistic, dataset_from_arrays
from dpcore_a_ddp.a_ddp import ADdp
from dpcore_a_ddp.baselines import SgdAdvLocal, SgdMaj, SgdPass, SgdUsers
from dpcore_a_ddp.noise import advanced_split, analytic_gaussian, basic_split
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.pools.users_file import alike_users
from dpcore_a_ddp.sampling_composition import SamplingCompositionAccountant


@pytest.mark.parametrize("kind", [ADdp, SgdAdvLocal, SgdMaj, SgdPass])
def test_the_theorem_of_secure_sums_is_named_beside_that_of_gaussian_rounds(kind):
    assert "secure-aggregation" in kind.trust_models and "of secure sums" in kind.theorem


def make_data(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0] + 0.2 > 0, 1.0, -1.0)
    return dataset_from_arrays(X, y, row_norm=2.0)


def run(optimizer, data, accountant=SamplingCompositionAccountant, epsilon=4.0, loss=None, **more):
    loss = loss or Logistic()
    users = alike_users(data.X.shape[0], optimizer.rows_per_user, epsilon, 1e-6)
    pool = InProcessPool(users, data, loss, accountant.from_budget, seed=2, **more)
    problem = Problem(
        loss=loss,
        l2=0.0,
        n_features=data.n_features,
        row_norm=data.row_norm,
        raw_norm_bound=data.raw_norm_bound,
        relation=NeighboringRelation.REPLACE_ONE,
        n=data.X.shape[0],
    )
    return optimizer.minimize(problem, pool), pool


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("rounds", [1, 10, 100])
def test_the_share_of_a_round_composes_to_the_budget(epsilon, rounds):
    share, delta = advanced_split(epsilon, 1e-6, rounds)
    if rounds == 1:
        assert (share, delta) == (epsilon, 1e-6)
        return
    # Dwork & Roth 2014, Theorem 3.20, written out.
    total = math.sqrt(2 * rounds * math.log(1 / 5e-7)) * share
    total += rounds * share * (math.exp(share) - 1)
    assert total == pytest.approx(epsilon) and rounds * delta == pytest.approx(5e-7)
    assert basic_split(epsilon, 1e-6, rounds) == (epsilon / rounds, 1e-6 / rounds)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0, 40.0])
def test_the_noise_of_a_round_is_the_analytic_gaussian(epsilon):
    def excess(m):
        upper = ndtr(1 / (2 * m) - epsilon * m)
        return upper - math.exp(epsilon) * ndtr(-1 / (2 * m) - epsilon * m) - 1e-6

    assert analytic_gaussian(epsilon, 1e-6) == pytest.approx(brentq(excess, 0.01, 1e4), rel=1e-5)


@pytest.mark.slow
def test_rounds_go_on_past_those_that_were_planned_for():
    solution, pool = run(
        ADdp(noise="planned", rounds=3, rows_per_user=10), make_data(60), epsilon=0.5
    )
    allowed = int(pool.rounds_allowed.max())
    assert solution.details["rounds"] == allowed > 3
    assert solution.status == f"{allowed} rounds: no user can join another."
    cut, _ = run(ADdp(noise="planned", rounds=3, most_rounds=5), make_data())
    assert cut.status.startswith("5 rounds, as many as were asked for")


@pytest.mark.parametrize(
    ("optimizer", "accountant", "rounds"),
    [
        (SgdMaj(rounds=4), GdpAccountant, 4),
        (SgdPass(rounds=2, rows_per_user=7), GdpAccountant, 14),
        (SgdPass(rounds=2, rows_per_user=250), GdpAccountant, 500),
    ],
)
def test_baselines_have_the_rounds_that_were_asked_for(optimizer, accountant, rounds):
    solution, pool = run(optimizer, make_data(700), accountant)
    assert solution.details["rounds"] == rounds
    # The last of three users has 200 rows of its own, and leaves after 2 x 200 rounds.
    last = min(rounds, optimizer.rounds * pool.users[-1].n_rows)
    full = rounds if not isinstance(optimizer, SgdPass) else last
    assert pool.rounds_joined[-1] == full


def test_a_pass_visits_each_row_as_often_in_its_order():
    data = make_data(40)
    seen = []
    optimizer = SgdPass(rounds=2, rows_per_user=20)

    class Watched(InProcessPool):
        def _draw(self, rules, joined, visits, noise):
            rows, places = super()._draw(rules, joined, visits, noise)
            seen.extend(rows.tolist())
            return rows, places

    users = alike_users(40, 20, 4.0, 1e-6)
    pool = Watched(users, data, Logistic(), GdpAccountant.from_budget, seed=1)
    problem = problem_of(data, NeighboringRelation.REPLACE_ONE)
    optimizer.minimize(problem, pool)
    assert np.bincount(seen).tolist() == [2] * 40
    assert seen[:6] == [0, 20, 1, 21, 2, 22]


def test_the_least_noise_of_a_filter_takes_all_rounds_and_no_more():
    optimizer = ADdp(rounds=30)
    solution, pool = run(optimizer, make_data())
    assert solution.details["rounds"] == pool.rounds_allowed.max() == 30
    planned, _ = run(ADdp(noise="planned", rounds=30, most_rounds=30), make_data())
    assert solution.details["sigma"] < planned.details["sigma"]


@pytest.mark.slow
def test_without_noise_it_learns_and_with_a_huge_budget_too():
    data = make_data(2000)
    right = {}
    for optimizer, epsilon in ((SgdUsers(rounds=5), 1.0), (ADdp(most_rounds=500), 1e5)):
        solution, _ = run(optimizer, data, epsilon=epsilon)
        right[type(optimizer).__name__] = (((data.X @ solution.w) > 0) == (data.y > 0)).mean()
    assert right["SgdUsers"] > 0.95 and right["ADdp"] > 0.9


def test_users_who_are_away_are_no_end():
    optimizer = ADdp(noise="planned", rounds=3, most_rounds=6)
    away = {"absent": lambda index: np.full(6, index in (0, 3))}
    solution, pool = run(optimizer, make_data(), **away)
    assert solution.details["rounds"] == 4
    assert pool.rounds_joined.tolist() == [4] * 6


def test_the_clip_is_no_longer_than_a_gradient_can_be():
    assert run(ADdp(most_rounds=1), make_data())[0].details["clip"] == 2.0  # row norm 2, slope 1
    assert run(ADdp(most_rounds=1, clip=0.5), make_data())[0].details["clip"] == 0.5
    squared, _ = run(ADdp(most_rounds=1), make_data(), loss=Squared())
    assert squared.details["clip"] == 3.0


def test_the_step_does_not_depend_on_the_rows():
    steps = {
        run(ADdp(most_rounds=2), make_data(seed=seed))[0].details["step_size"] for seed in (0, 1)
    }
    assert len(steps) == 1
    assert run(ADdp(most_rounds=2, step_size=0.25), make_data())[0].details["step_size"] == 0.25


@pytest.mark.parametrize(
    "changes",
    [{"rounds": 0}, {"clip": 0.0}, {"rate": 1.5}, {"rows_per_user": 0}, {"threshold": 0.0},
     {"colluding": -0.1}, {"as_published": True, "rate": 0.1}],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(changes):
    with pytest.raises(InvalidInputError):
        ADdp(**changes)


@pytest.mark.slow
def test_as_published_is_half_the_noise_and_one_round_more():
    data = make_data(60)
    planned = {"noise": "planned", "rounds": 10, "clip": 3.0, "rows_per_user": 3}
    ours, pool = run(ADdp(**planned), data, epsilon=0.2)
    theirs, late = run(ADdp(as_published=True, rows_per_user=3), data, epsilon=0.2)
    assert theirs.details["sigma"] == pytest.approx(ours.details["sigma"] / 2)
    assert late.rounds_joined.max() == pool.rounds_joined.max() + 1
    assert "users left a round late" in late.rules.why_not_private(NeighboringRelation.REPLACE_ONE)


@pytest.mark.slow
def test_as_published_says_that_users_left_late_only_where_they_did():
    relation = NeighboringRelation.REPLACE_ONE
    _, early = run(ADdp(as_published=True, most_rounds=5), make_data(60), epsilon=0.2)
    assert early.rules.why_not_private(relation) == ("the noise was for the clip alone",)
    _, sound = run(ADdp(rows_per_user=3), make_data(60), epsilon=0.2)
    assert sound.rules.why_not_private(relation) == ()
    # What users agreed to says nothing of it.
    assert "left_late" not in early.rules.to_dict()


def test_the_paper_and_its_published_form_return_the_last_iterate():
    data = make_data(60)
    options = {"most_rounds": 2, "clip": 3.0, "step_size": 0.5}
    mean, _ = run(ADdp(**options), data)
    last, _ = run(ADdp(average=False, **options), data)
    first, _ = run(ADdp(**options | {"most_rounds": 1}), data)
    # Of two rounds the latter half is the second.
    assert mean.w.tobytes() == last.w.tobytes() != first.w.tobytes()
    options["most_rounds"] = 4
    mean, last = (run(ADdp(average=how, **options), data)[0].w for how in (True, False))
    assert mean.tobytes() != last.tobytes()
    ours, theirs = (
        run(ADdp(as_published=True, average=how, **options), data)[0].w for how in (True, False)
    )
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("optimizer", [ADdp, SgdMaj, SgdPass, SgdAdvLocal, SgdUsers])
def test_the_preset_is_what_the_paper_states(optimizer):
    stated = {"rounds": 10, "clip": 3.0, "rows_per_user": 100, "average": False}
    assert stated.items() <= optimizer.presets["paper"].items()
    if optimizer is ADdp:
        assert optimizer.presets["paper"]["most_rounds"] is None
        assert ADdp().most_rounds is None


@pytest.mark.parametrize("algo", ["a-ddp", "sgd-adv-local", "sgd-pass", "sgd-maj"])
def test_a_pool_whose_rules_are_not_private_is_never_stated_as_private(monkeypatch, algo):
    # Whatever an optimizer declares: its rules tell.
    from dataclasses import replace

    begin = InProcessPool.begin
    monkeypatch.setattr(
        InProcessPool,
        "begin",
        lambda self, rules, most: begin(self, replace(rules, noise_multiplier=0.0), 2),
    )
    model = Run(make_plan(Settings(algo=algo, relation="replace-one")), make_data()).model()
    assert model.privacy["private"] is False
    assert "the users added no noise" in model.privacy["sentence"]


def test_a_pool_whose_rules_are_for_another_relation_is_never_stated_as_private(monkeypatch):
    from dataclasses import replace

    begin = InProcessPool.begin
    monkeypatch.setattr(
        InProcessPool,
        "begin",
        lambda self, rules, most: begin(self, replace(rules, relation="replace-special"), 2),
    )
    model = Run(make_plan(Settings(algo="a-ddp", relation="replace-one")), make_data()).model()
    assert model.privacy["private"] is False
    assert "the users' noise was for replace-special" in model.privacy["sentence"]


def test_sgd_adv_local_takes_less_noise_than_basic_composition():
    from dpcore_accounting.advanced_composition import AdvancedCompositionAccountant

    ours, _ = run(SgdAdvLocal(rounds=10), make_data(), AdvancedCompositionAccountant)
    plain, _ = run(SgdMaj(rounds=10), make_data(), GdpAccountant)
    assert ours.details["sigma"] < plain.details["sigma"]
    assert ours.details["rounds"] == 10
