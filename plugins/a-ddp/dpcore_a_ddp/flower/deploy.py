"""``python -m dpcore_a_ddp.flower.deploy``: A-DDP as real processes on this machine."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import Schema
from dpcore.errors import DpcoreError, visible
from dpcore.plugin import InvalidInputError, Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import OutFile
from dpcore_a_ddp.flower.certificates import Certificates, given_certificates
from dpcore_a_ddp.flower.job import Job
from dpcore_a_ddp.flower.processes import LOOPBACK, Deployment, DeploymentError
from dpcore_a_ddp.flower.split import count_rows, list_identities, share_out
from dpcore_a_ddp.pools.users_file import read_users
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.primitives import require_primitives

if TYPE_CHECKING:
    from dpcore_a_ddp.users.messages import User

__all__ = ["deploy", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    asked = _parser().parse_args(arguments)
    settings = Settings(
        algo=asked.algo,
        loss=asked.loss,
        l2=asked.l2,
        epsilon=asked.epsilon,
        delta=asked.delta,
        relation=asked.relation,
        accountant=asked.accountant,
        params=dict(_assignment(text) for text in asked.set),
        users=os.fspath(asked.users),
        trust=asked.trust,
        seed=asked.seed,
    )
    try:
        deploy(
            settings,
            asked.data,
            asked.schema,
            asked.folder,
            asked.out,
            asked.timeout,
            certificates=asked.certificates and given_certificates(*asked.certificates),
            host=asked.host,
        )
    except (DpcoreError, OSError) as error:
        print(visible(f"dpcore-a-ddp: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dpcore-a-ddp: stopped; what users spent is in their ledgers.", file=sys.stderr)
        return 130
    return 0


def deploy(
    settings: Settings,
    data: Path,
    schema: Path,
    folder: Path,
    out: Path,
    timeout: float = 60.0,
    seconds: float = 24 * 3600.0,
    certificates: Certificates | None = None,
    host: str = LOOPBACK,
) -> None:
    """Share out the rows, start a SuperLink and a SuperNode for each user, run, and stop them.

    ``folder`` : what the users keep, ledgers included, and logs. ``timeout`` : seconds that a round
    waits for users. ``seconds`` : the longest that the run may take. ``certificates``, ``host`` :
    the SuperLink's, and the address that they are for; by default made for the loopback.

    Raises DpcoreError; before anything is started for what can be told beforehand.
    """
    # Flower's processes run elsewhere.
    settings = replace(settings, users=os.path.abspath(settings.users))
    plan = make_plan(settings)
    if plan.accountant.name == "best":
        raise InvalidInputError("Users need one accountant by name, not best.")
    OutFile(out).check()
    n_rows = count_rows(data, Schema.read(schema))
    users = _users_of(settings.users, plan.optimizer, n_rows)
    names = (plan.relation.value, plan.accountant.name)
    colluding = None
    if settings.trust == "secure-aggregation":
        colluding = _colluding(plan.optimizer, len(users))
    own = share_out(data, schema, users, folder / "users", *names, settings.seed, colluding)
    if colluding is not None:
        listed = list_identities(settings.users, folder / "users")
        settings = replace(settings, users=os.fspath(listed.resolve()))
    progress, model = folder / "rounds.jsonl", folder / "model.json"
    for old in (progress, model):
        old.unlink(missing_ok=True)
    places = {"schema": own[0].with_name("schema.toml"), "out": model, "progress": progress}
    whole: dict[str, Any] = {name: os.fspath(place.resolve()) for name, place in places.items()}
    job = Job(settings=settings, n_rows=n_rows, n_nodes=len(users), timeout=timeout, **whole)
    job.write(folder / "job.json")
    _run(Deployment(folder / "processes", certificates, host), folder, own, progress, seconds)
    if not model.exists():
        raise DeploymentError(f"The run ended without a model; see {folder / 'processes'}.")
    OutFile(out).write(model.read_bytes())
    for line in (f"Model: {out}", f"Users, with their ledgers: {folder / 'users'}"):
        print(visible(line))


def _colluding(optimizer: Any, users: int) -> int:
    """Return how many users may collude in secure sums; InvalidInputError for parameters with which
    these prove nothing, or without the primitives."""
    require_primitives()
    colluding = math.floor(optimizer.colluding * users)
    known = users, colluding, math.ceil(optimizer.threshold * users)
    if optimizer.neighbours is None:
        SumParameters.complete(*known)
    else:
        SumParameters.drawn(*known, optimizer.neighbours)
    return colluding


def _users_of(file: str, optimizer: Any, n_rows: int) -> tuple[User, ...]:
    """Return the users of a run; InvalidInputError for fewer than two."""
    users = read_users(file, n_rows, optimizer.rows_per_user)
    if len(users) < 2:
        raise InvalidInputError("Expected two users or more.")
    return users


def _run(
    processes: Deployment, folder: Path, own: Sequence[Path], progress: Path, seconds: float
) -> None:
    """Start a node for each user's own settings, and tell of the run's rounds until it ends."""
    told = _Progress(progress)
    with processes as deployment:
        for place, settings_file in enumerate(own):
            deployment.start_node(f"node-{place}", settings_file)
        deployment.run(folder / "job.json", seconds, told.tell)
    told.tell()


class _Progress:
    """Prints the server's lines as they are written."""

    def __init__(self, path: Path) -> None:
        self._path, self._seen = path, 0
        self._said: set[str] = set()

    def tell(self) -> None:
        """Print what is new. Raises DeploymentError for a run that the server gave up."""
        if not self._path.exists():
            return
        whole = self._path.read_text(encoding="utf-8").split("\n")[:-1]
        for line in map(json.loads, whole[self._seen :]):
            if "error" in line:
                raise DeploymentError(line["error"])
            counts = (len(line[key]) for key in ("joined", "declined", "dropped"))
            text = "Round {}: {} joined, {} declined, {} messages dropped."
            print(text.format(line["round"], *counts), flush=True)
            self._explain([f"{user} declined: {why}" for user, why in line["declined"].items()])
            self._explain([f"dropped, from {user!a}: {why}." for user, why in line["dropped"]])
        self._seen = len(whole)

    def _explain(self, reasons: list[str]) -> None:
        """Print each reason once."""
        for reason in reasons:
            if reason not in self._said:
                print(visible(f"  {reason}"), flush=True)
        self._said.update(reasons)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dpcore_a_ddp.flower.deploy",
        description="Fit over users who are processes of their own, on this machine, by Flower.",
    )
    parser.add_argument("--data", type=Path, required=True, help="rows of all users, one a line")
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--users", type=Path, required=True, help="CSV: user, epsilon, delta, rows")
    parser.add_argument("--folder", type=Path, required=True, help="what the users keep, and logs")
    parser.add_argument("--out", type=Path, required=True, help="the model file")
    parser.add_argument("--algo", default="a-ddp")
    parser.add_argument("--loss", default=Settings.loss)
    parser.add_argument("--l2", type=float)
    parser.add_argument("--epsilon", type=float, help="what the noise is planned for")
    parser.add_argument("--delta", type=float, default=Settings.delta)
    parser.add_argument("--relation")
    parser.add_argument("--accountant")
    parser.add_argument("--trust")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, help="for tests: the model is then not private")
    parser.add_argument(
        "--certificates",
        type=Path,
        nargs=3,
        metavar=("CA", "CERTIFICATE", "KEY"),
        help="PEM files of the SuperLink, by default made for this run",
    )
    parser.add_argument("--host", default=LOOPBACK, help="where the SuperLink listens")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a round waits")
    return parser


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SystemExit(f"dpcore-a-ddp: expected --set NAME=VALUE, not {text!r}")
    return name, value


if __name__ == "__main__":
    # So that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
