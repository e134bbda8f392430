"""Real processes: a SuperLink and SuperNodes on this machine, by ``flwr run``."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra dpcore-a-ddp[flower]")

from dpcore import Schema, fit, load_model  # noqa: E402
from dpcore.plugin import Settings  # noqa: E402
from dpcore_a_ddp.flower.bundle import sign_bundle  # noqa: E402
from dpcore_a_ddp.flower.certificates import (  # noqa: E402
    given_certificates,
    make_certificates,
)
from dpcore_a_ddp.flower.deploy import deploy, main  # noqa: E402
from dpcore_a_ddp.flower.processes import Deployment, DeploymentError  # noqa: E402
from dpcore_a_ddp.pools.users_file import read_users  # noqa: E402

pytestmark = pytest.mark.slow

SEED = 5


def settings(table, algo, **params):
    return Settings(
        algo=algo,
        epsilon=8.0,
        delta=1e-6,
        params=params,
        users=str(table / "users.csv"),
        seed=SEED,
    )


def lines(path):
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def files(table):
    return {"data": table / "rows.csv", "schema": table / "schema.toml", "folder": table / "run"}


def test_with_a_seed_the_weights_are_those_of_one_process(table, monkeypatch):
    monkeypatch.chdir(table)
    asked = settings(Path(), "a-ddp", rounds=2, most_rounds=2)
    given = given_certificates(*make_certificates(table, "127.0.0.1"))
    deploy(asked, **files(Path()), out=Path("model.json"), certificates=given)
    assert not [*(table / "run" / "processes").glob("*.pem")]
    deployed = load_model(table / "model.json")
    schema = Schema.read(table / "schema.toml")
    here = fit(
        table / "rows.csv",
        schema=schema,
        algo=asked.algo,
        epsilon=asked.epsilon,
        delta=asked.delta,
        params=asked.params,
        users=read_users(asked.users, 16, 1),
        seed=SEED,
    )
    assert np.array_equal(deployed.w, here.w) and here.w.any()
    assert deployed.privacy["users"] == here.privacy["users"]
    assert not deployed.privacy["private"]
    assert deployed.details == here.details
    told = lines(table / "run" / "rounds.jsonl")
    assert [line["round"] for line in told] == [0, 1]
    # Noise is one for all: anna's budget, a quarter of theirs, holds no round.
    assert told[0]["joined"] == ["ben", "cleo"]


def test_a_node_killed_in_mid_round_costs_its_round_and_nothing_twice(table, monkeypatch):
    """Killed as soon as its ledger is debited, and started when the round is over until Flower
    takes it; another user's node stands still until it has answered: the run cannot end before."""
    own = table / "run" / "users" / "user-1"
    ledger, told = own / "ledger.jsonl", table / "run" / "rounds.jsonl"
    done = []

    def crash(deployment):
        written = lines(ledger) if ledger.exists() else []
        paid = [line["debit"] for line in written if "debit" in line]
        if not done and 1 in paid:
            deployment.kill("node-1")
            done.append("killed")
        elif done == ["killed"] and len(lines(told)) >= 2:
            deployment.send("node-2", signal.SIGSTOP)
            deployment.start_node("node-1-again", own / "user.toml")
            done.append("back")
        elif done == ["killed", "back"] and max(paid) > 1:
            deployment.send("node-2", signal.SIGCONT)
            done.append("answered")
        elif done == ["killed", "back"] and not deployment.is_running("node-1-again"):
            deployment.start_node("node-1-again", own / "user.toml")

    run = Deployment.run

    def watched(self, job, seconds, watch):
        run(self, job, seconds, lambda: (watch(), crash(self)))

    monkeypatch.setattr(Deployment, "run", watched)
    asked = settings(table, "sgd-maj", rounds=4)
    deploy(asked, **files(table), out=table / "model.json", timeout=60.0)
    assert done == ["killed", "back", "answered"]
    rounds = lines(told)
    assert [line["round"] for line in rounds] == [0, 1, 2, 3]
    assert all(line["dropped"] == [] for line in rounds)
    # On a machine that is wanted many times over, one answer of hers may be late.
    assert sum("cleo" in line["joined"] for line in rounds) >= 3
    assert list(rounds[3]["declined"]) == ["anna"]
    entries = lines(ledger)[1:]
    debits = [line["debit"] for line in entries if "debit" in line]
    replies = [line["reply"] for line in entries if "reply" in line]
    # Where round 2 was over before another node could stand still, she is back in round 3.
    assert debits in ([0, 1, 2, 3], [0, 1, 3])
    assert replies == sorted(set(replies)) and {0, 3} <= set(replies)
    taken = {line["round"] for line in rounds if "ben" in line["joined"]}
    assert {0, 3} <= taken <= set(replies)
    assert load_model(table / "model.json").w.any()


def test_a_node_runs_no_bundle_that_a_key_it_does_not_trust_has_signed(table, monkeypatch):
    signed = Deployment._sign_app

    def by_another_key(deployment):
        signed(deployment)
        (built,) = deployment.folder.glob("*.fab")
        sign_bundle(built).write_trusted(deployment.trusted)

    monkeypatch.setattr(Deployment, "_sign_app", by_another_key)
    asked = settings(table, "sgd-maj", rounds=1)
    with pytest.raises(DeploymentError):
        deploy(asked, **files(table), out=table / "model.json", timeout=5.0)
    processes = table / "run" / "processes"
    for place in range(3):
        assert "FAB verification failed" in (processes / f"node-{place}.log").read_text()
    assert not [*(table / "run").glob("users/*/ledger.jsonl")]


def test_secure_sums_of_eight_nodes_go_on_without_three_that_are_killed(table, monkeypatch):
    """Killed when they have shared their keys, so that the others have to open their masks."""
    head, *rows = (table / "rows.csv").read_text().splitlines()
    (table / "rows.csv").write_text("\n".join([head, *rows, *rows[:8]]) + "\n")
    names = [f"user {place}" for place in range(8)]
    users = "".join(f"{name},8,1e-6,3\n" for name in names)
    (table / "users.csv").write_text(f"user,epsilon,delta,rows\n{users}")
    own = [table / "run" / "users" / f"user-{place}" for place in range(8)]
    killed = []

    def crash(deployment):
        for place in {5, 6, 7} - {*killed}:
            journal = own[place] / "journal.jsonl"
            if journal.exists() and "shared" in journal.read_text():
                deployment.kill(f"node-{place}")
                killed.append(place)

    run = Deployment.run

    def watched(self, job, seconds, watch):
        run(self, job, seconds, lambda: (watch(), crash(self)))

    monkeypatch.setattr(Deployment, "run", watched)
    asked = settings(table, "a-ddp", rounds=1, most_rounds=1, threshold=0.6)
    asked = replace(asked, trust="secure-aggregation", seed=None)
    deploy(asked, **files(table), out=table / "model.json", timeout=90.0)
    assert sorted(killed) == [5, 6, 7]
    (told,) = lines(table / "run" / "rounds.jsonl")
    assert told["joined"] == names[:5]
    assert {user for user, _ in told["dropped"]} == {*names[5:]}
    debits = [
        [line["debit"] for line in lines(folder / "ledger.jsonl") if "debit" in line]
        for folder in own
    ]
    assert debits[:5] == [[0]] * 5 and all(debit in ([], [0]) for debit in debits[5:])
    model = load_model(table / "model.json")
    assert model.privacy["private"] and model.w.any()
    assert "process of its own" in model.privacy["users"]["server_sees"]


def test_what_can_be_told_beforehand_is_refused_before_anything_starts(table, capsys):
    command = ["--data", str(table / "rows.csv"), "--schema", str(table / "schema.toml")]
    command += ["--users", str(table / "users.csv"), "--folder", str(table / "run")]
    command += ["--out", str(table / "model.json"), "--algo", "sgd-maj"]
    for more, said in (
        (["--trust", "nonsense"], "nonsense"),
        (["--trust", "secure-aggregation", "--set", "threshold=0.3"], "threshold"),
        (["--set", "rounds=0"], "rounds"),
        (["--loss", "nonsense"], "nonsense"),
        (["--out", str(table)], "directory"),
        (["--data", str(table / "none.csv")], "none.csv"),
        (["--schema", str(table / "none.toml")], "none.toml"),
        (["--accountant", "best"], "by name"),
        (["--certificates", *3 * [str(table / "rows.csv")]], "Expected PEM files"),
    ):
        assert main([*command, *more]) == 2
        assert said in capsys.readouterr().err
    (table / "users.csv").write_text("user,epsilon,delta,rows\nanna,1,1e-6,16\n")
    assert main(command) == 2
    assert "two users or more" in capsys.readouterr().err
    assert not (table / "run").exists()
