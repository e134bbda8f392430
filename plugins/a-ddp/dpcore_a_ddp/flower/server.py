"""The app that Flower runs at its SuperLink: the plugin's own optimizer over Flower's nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from dpcore import Schema
from dpcore.errors import DpcoreError
from dpcore.plugin import InvalidInputError
from dpcore.plugin.commands import make_plan
from dpcore_a_ddp.flower.job import Job
from dpcore_a_ddp.flower.pool import FlowerPool
from dpcore_a_ddp.flower.post import FlowerPost
from dpcore_a_ddp.flower.sum_pool import FlowerSumPool
from dpcore_a_ddp.pools.user_budgets import Filters
from dpcore_a_ddp.pools.users_file import read_users
from dpcore_a_ddp.secure_sums.context import Members
from dpcore_a_ddp.users.user_fits import fit_pool

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model
    from dpcore_a_ddp.users.messages import Answers

__all__ = ["app", "serve"]

app = ServerApp()


@app.main()
def serve(grid: Grid, context: Context) -> None:
    """Run the job that the run's configuration names, write its model, and a line for each round.

    Flower's ``Strategy.start`` has a fixed number of rounds and averages by itself; here it is the
    optimizer that decides on both, and a user that declines is an answer like any other.
    """
    job = Job.read(str(context.run_config["job"]))
    try:
        _fit(job, grid).save(job.out)
    except DpcoreError as error:
        _note(job, {"error": str(error)})
        raise


def _fit(job: Job, grid: Grid) -> Model:
    plan = make_plan(job.settings)
    optimizer: Any = plan.optimizer
    users = read_users(job.settings.users, job.n_rows, optimizer.rows_per_user)
    names = [user.name for user in users]
    empty = plan.accountant

    def note(index: int, answers: Answers, declined: dict[str, str]) -> None:
        joined = [names[place] for place in answers.joined]
        dropped = [[message.user[:80], message.reason] for message in answers.rejected]
        _note(job, {"round": index, "joined": joined, "declined": declined, "dropped": dropped})

    post = FlowerPost(grid, job.timeout)
    reference = None if job.settings.epsilon is None else (empty.epsilon, empty.delta)
    known: dict[str, Any] = {"reference": reference, "on_round": note}
    if job.settings.trust == "secure-aggregation":
        members = Members.read(job.settings.users)
        pool: FlowerPool = FlowerSumPool(users, members, post, Filters(empty), **known)
    else:
        pool = FlowerPool(users, post, Filters(empty), **known)
    connected = post.wait_for(job.n_nodes, job.start_timeout)
    if connected < job.n_nodes:
        raise InvalidInputError(f"{connected} nodes are connected, not {job.n_nodes}.")
    model = fit_pool(plan, Schema.read(job.schema), pool)
    if not pool.rounds_joined.any():
        raise InvalidInputError("No user joined a single round; the nodes' own logs say why.")
    return model


def _note(job: Job, line: dict[str, Any]) -> None:
    with Path(job.progress).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
