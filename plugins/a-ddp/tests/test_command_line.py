"""Users on the command line and in Python: what is asked, stated, and refused."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import fit, load_model
from dpcore.cli import app
from dpcore.errors import InvalidInputError
from dpcore_a_ddp.users.messages import User

ALGORITHMS = ("a-ddp", "sgd-maj", "sgd-pass", "sgd-adv-local")
QUICK = {
    "a-ddp": ("--set", "most_rounds=20"),
    "sgd-maj": ("--set", "rounds=3"),
    "sgd-pass": ("--set", "rounds=1", "--set", "rows_per_user=20"),
    "sgd-adv-local": ("--set", "rounds=3"),
}
SEES = {
    "local": "Trust model local: each user adds all of the noise",
    "secure-aggregation": "Trust model secure-aggregation: each user adds a share of the noise",
}


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file of 600 rows and its schema, as options of the command line."""
    folder, rng = tmp_path_factory.mktemp("table"), np.random.default_rng(4)
    X = rng.uniform(0, 1, (600, 3))
    labels = np.where(X.sum(axis=1) > 1.5, "yes", "no")
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{y}" for (a, b, c), y in zip(X, labels, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    numeric = "".join(f'{n} = {{ kind = "numeric", lower = 0, upper = 1 }}\n' for n in "abc")
    schema = f'rows = 600\n[columns]\n{numeric}y = {{ kind = "label", classes = ["no", "yes"] }}\n'
    (folder / "schema.toml").write_text(schema)
    return "--data", folder / "rows.csv", "--schema", folder / "schema.toml"


def users_file(tmp_path, *lines, head="user,epsilon,delta,rows"):
    path = tmp_path / "users.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["local", "secure-aggregation"])
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_output_names_budget_relation_accountant_and_trust_model(
    table, tmp_path, algo, trust
):
    out = tmp_path / "model.json"
    ask = ("train", "--algo", algo, *table, "--epsilon", 16, "--trust", trust, *QUICK[algo])
    shown = run(*ask, "--out", out)
    assert shown.exit_code == 0, shown.stderr
    privacy = json.loads(out.read_text())["privacy"]
    users = 30 if algo == "sgd-pass" else 6
    for text in (" ".join(shown.stdout.split()), privacy["sentence"]):
        assert "is (16, 1e-08)-differentially private under replace-one" in text
        assert f"as enforced by the {privacy['accountant']} filter" in text
        assert f"Each of the {users} users has a filter and a public budget" in text
        assert "the unit is one row of a user, not the user" in text
        assert SEES[trust] in text
    assert privacy["private"] is True
    assert privacy["unit_of_protection"] == "one row of a user"
    assert privacy["parts_not_from_dpcore"] == []
    assert (privacy["users"]["count"], privacy["users"]["trust_model"]) == (users, trust)
    assert load_model(out).privacy["users"] == privacy["users"]
    if algo != "a-ddp" or trust == "local":  # a second run, which takes a second with shares
        report = json.loads(run(*ask, "--json").stdout)
        assert report["users"]["trust_model"] == trust
        assert report["releases"]["gradient"] == report["details"]["rounds"] * users


@pytest.mark.slow
def test_users_of_a_file_spend_their_own_budgets(table, tmp_path):
    path = users_file(tmp_path, "ann,0.5,1e-8,100", "bob,8,1e-6,200", "cy,0.001,1e-8,300")
    shown = run(
        "train", "--algo", "a-ddp", *table, "--users", path, "--json", "--set", "rounds=200",
        "--set", "most_rounds=300",
    )  # fmt: skip
    report = json.loads(shown.stdout)
    assert (report["epsilon"], report["delta"]) == (8.0, 1e-6)
    assert report["users"]["epsilon"] == [0.001, 8.0]
    assert report["users"]["delta"] == [1e-8, 1e-6]
    assert "epsilon from 0.001 to 8, delta from 1e-08 to 1e-06" in report["sentence"]
    # The noise is planned for the lower medians, as nobody gave --epsilon.
    assert report["details"]["planned_for"] == [0.5, 1e-8]
    joined = report["details"]["rounds_joined"]
    assert joined["least"] == 0 < joined["median"] < joined["most"]
    asked = json.loads(
        run(
            "train", "--algo", "a-ddp", *table, "--users", path, "--json", "--epsilon", 2,
            "--set", "most_rounds=5",
        ).stdout
    )  # fmt: skip
    assert asked["details"]["planned_for"] == [2.0, 1e-8]
    assert asked["epsilon"] == 8.0


@pytest.mark.parametrize(
    ("relation", "accountant"),
    [
        pytest.param("replace-special", "rdp", marks=pytest.mark.slow),
        ("replace-one", "skellam-composition"),
    ],
)
def test_poisson_samples_of_shares_are_counted_by_the_tighter_bound_that_is_proved(
    table, relation, accountant
):
    asked = (
        *("train", "--algo", "a-ddp", "--preset", "amplified", *table, "--epsilon", 8),
        *("--relation", relation, "--trust", "secure-aggregation", "--set", "most_rounds=3"),
        "--json",
    )
    usual, by_hits = (
        json.loads(run(*asked, *named).stdout)
        for named in ((), ("--accountant", "skellam-composition"))
    )
    assert usual["accountant"] == accountant
    ratio = by_hits["details"]["noise_multiplier"] / usual["details"]["noise_multiplier"]
    assert ratio == 1 if accountant != "rdp" else ratio > 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("a,0,1e-8,600",), "users.csv, line 2, column epsilon: expected epsilon > 0"),
        (("a,1,1e-8,300", "a,1,1e-8,300"), "line 3, column user: 'a' is there twice"),
        (("a,1,1e-8,599",), "own 599 rows, and the data have 600"),
        (("a,1,1e-8,600", "b,1,1e-8,0"), "line 3, column rows: a user has a whole number"),
        (("a,1e-9,1e-12,600",), "No user can join the first round"),
    ],
)
def test_bad_files_and_hopeless_budgets_end_before_anything_is_spent(
    table, tmp_path, lines, message
):
    path, out = users_file(tmp_path, *lines), tmp_path / "model.json"
    # Of one user the budget is the plan's, and its own noise would fit: plan for another.
    shown = run("train", "--algo", "a-ddp", *table, "--users", path, "--epsilon", 4, "--out", out)
    assert shown.exit_code == 2
    assert message in " ".join(shown.stderr.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--relation", "add-or-remove-one"), "has no guarantee under add-or-remove-one"),
        (("--trust", "none"), "runs under trust local or secure-aggregation, not 'none'"),
        (("--trust", "secure-aggregation", "--as-published"), "rules of our own"),
        (("--accountant", "pure"), "cannot bound the cost"),
        (
            ("--accountant", "best", "--set", "noise=planned"),
            "only for a number of rounds that is fixed beforehand",
        ),
        (("--set", "rate=2"), "rate=2.0 is out of range: expected a value in"),
        (("--set", "rows_per_user=0"), "rows_per_user=0 is out of range"),
        (("--set", "noise=none"), "Expected noise='none'"),
        (("--users", "nowhere.csv"), "Cannot read 'nowhere.csv'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(table, arguments, message):
    shown = run("train", "--algo", "a-ddp", *table, *arguments)
    assert shown.exit_code == 2, shown.stdout
    assert message in " ".join(shown.stderr.split())


@pytest.mark.parametrize(("option", "value"), [("--users", "u.csv"), ("--trust", "local")])
def test_an_algorithm_without_users_takes_none(table, option, value):
    shown = run("train", "--algo", "dp-agd", *table, option, value)
    assert shown.exit_code == 2
    assert f"dp-agd takes no {option} ({option[2:]}=): all its rows" in shown.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--algo", "a-ddp", "--as-published"), "as its authors published it"),
        (("--algo", "a-ddp", "--as-published"), "users left a round late"),
        (("--algo", "sgd-users"), "the users added no noise"),
        (("--algo", "a-ddp", "--seed", 3, *QUICK["a-ddp"]), "the noise came from a seed"),
    ],
)
def test_what_is_not_private_says_so(table, tmp_path, arguments, reason):
    # Users of 5 rows: what is sampled at a rate of .2 has few rounds.
    path = users_file(tmp_path, *(f"u{i},1,1e-8,5" for i in range(120)))
    report = json.loads(run("train", *table, *arguments, "--users", path, "--json").stdout)
    assert report["private"] is False
    assert report["sentence"].startswith("NOT PRIVATE") and reason in report["sentence"]


def test_relations_halve_the_noise(table):
    sigma = {
        relation: json.loads(
            run(
                "train", "--algo", "a-ddp", *table, "--relation", relation, "--json",
                "--set", "most_rounds=1", "--set", "noise=planned",
            ).stdout
        )["details"]["sigma"]
        for relation in ("replace-one", "replace-special")
    }  # fmt: skip
    assert sigma["replace-one"] == pytest.approx(2 * sigma["replace-special"])


@pytest.mark.slow
def test_the_least_noise_is_planned_with_any_accountant(table):
    plan = ("--set", "noise=filter", "--set", "rounds=40", "--set", "rate=.02", "--json")
    ask = ("train", "--algo", "a-ddp", *table, "--relation", "replace-special", *plan)
    sigma = {}
    for name in ("sampling-composition", "rdp", "best"):
        report = json.loads(run(*ask, "--accountant", name).stdout)
        sigma[name] = report["details"]["sigma"]
        assert report["accountant"] == ("pld" if name == "best" else name)
        assert report["details"]["rounds"] == 40
    assert sigma["best"] <= sigma["rdp"] * 1.001 < sigma["sampling-composition"]


def test_fit_takes_users_and_a_seed_repeats():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 3)), rng.integers(0, 2, 60)
    users = [User("a", 40, 4.0, 1e-6), User("b", 20, 2.0, 1e-6)]
    models = [
        fit(X, y, classes=(0, 1), algo="a-ddp", users=users, params={"most_rounds": 9}, seed=7)
        for _ in range(2)
    ]
    assert models[0].w.tobytes() == models[1].w.tobytes()
    assert models[0].privacy["users"]["count"] == 2
    with pytest.raises(InvalidInputError, match="User objects"):
        fit(X, y, classes=(0, 1), algo="a-ddp", users=[("a", 60, 1.0, 1e-6)])


@pytest.mark.slow
def test_list_info_and_compare_know_them(table):
    assert "a-ddp" in run("list", "optimizers").stdout
    shown = run("info", "a-ddp").stdout
    assert "replace-one, replace-special" in shown and "sampling-composition" in shown
    compared = run(
        "compare", *table, "--algos", "a-ddp,sgd-maj", "--relation", "replace-one", "--folds", 2,
        "--epsilon", "8", "--set", "a-ddp.most_rounds=3", "--json",
    )  # fmt: skip
    assert compared.exit_code == 0, compared.stderr
    means = json.loads(compared.stdout)["means"]
    assert {mean["algorithm"] for mean in means} >= {"a-ddp", "sgd-maj", "nonprivate"}
    assert not json.loads(compared.stdout)["failures"]


@pytest.mark.slow
def test_comparisons_of_another_trust_model_say_so_and_those_of_none_are_as_before(table):
    asked = (
        "compare", *table, "--algos", "sgd-maj", "--relation", "replace-one", "--folds", 2,
        "--epsilon", "8", "--json", "--seed", 1,
    )  # fmt: skip
    plain, secure = (
        json.loads(run(*asked, *more).stdout) for more in ((), ("--trust", "secure-aggregation"))
    )
    assert "trust" not in plain["settings"]
    assert secure["settings"]["trust"] == "secure-aggregation"
    found = [
        [m["mean"] for m in each["means"] if m["algorithm"] == "sgd-maj"]
        for each in (plain, secure)
    ]
    assert found[0] != found[1]
    refused = run("compare", *table, "--algos", "dp-agd", "--epsilon", "8", "--trust", "local")
    assert refused.exit_code == 2 and "takes no --trust" in refused.stderr
