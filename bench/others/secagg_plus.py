"""Flower's own SecAgg+: bytes and CPU time of a user and round.

    uv run --isolated --no-default-groups --group flower python bench/others/secagg_plus.py \
        --sizes 100 1000 10000

Users work in one process, by Flower's workflow and its client's part, without a network: 124
features, nobody is lost. Beyond 101 users each shares with 100 neighbours on a ring: those in
``--sample`` do all of their work, their neighbours up to the shares, and the others make keys.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import time
import warnings
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client.mod.secure_aggregation.secaggplus_mod import secaggplus_mod
from flwr.common import Code, FitIns, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key
from flwr.common.serde import recorddict_to_proto
from flwr.compat.common.recorddict_compat import fitres_to_recorddict, parameters_to_arrayrecord
from flwr.server.compat.legacy_context import LegacyContext
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD
from flwr.supercore.task_identity import TaskIdentity

_WIDTH = 124  # the features of a9a
_MOST_SHARES = 101
_THRESHOLD = 2 / 3
_STAGES = 4
_CHECKED = 10
"""So many users' sum is compared with the truth; of more the server's own work is left out."""


class _EveryoneAnswered(Exception):
    pass


class Clients:
    """All users, as the workflow's grid: it takes messages to them and brings their answers.

    ``measured`` : the users whose bytes and CPU time are counted: all of up to 101.
    """

    def __init__(self, users: int, sample: int) -> None:
        nodes, half = range(1, users + 1), _MOST_SHARES // 2
        is_ring = users > _MOST_SHARES
        self.measured = nodes[users // 2 :][:sample] if is_ring else nodes
        # On a ring of users in their order.
        near = range(self.measured[0] - half, self.measured[-1] + half + 1) if is_ring else nodes
        self._works = (nodes, near, self.measured, self.measured)
        self.contexts = {node: _context(node) for node in nodes}
        self.sent = self.got = 0
        self.seconds, self.stages = 0.0, 0
        rng = np.random.default_rng(0)
        self.vectors = {node: [rng.uniform(-1, 1, _WIDTH)] for node in nodes}

    def send_and_receive(
        self, messages: list[Message], *, timeout: float | None = None
    ) -> list[Message]:
        works = self._works[self.stages]
        answers = [self._answer(m) for m in messages if m.metadata.dst_node_id in works]
        others = [m for m in messages if m.metadata.dst_node_id not in works]
        self.stages += 1
        if self.stages == _STAGES and len(messages) > _CHECKED:
            raise _EveryoneAnswered
        # Those who are far from all that are measured: no shares, and the vector of another.
        none: dict[str, Any] = {Key.DESTINATION_LIST: [], Key.CIPHERTEXT_LIST: []}
        no_shares = RecordDict({RECORD_KEY_CONFIGS: ConfigRecord(none)})
        content = answers[0].content if self.stages == _STAGES - 1 else no_shares
        return answers + [Message(copy.deepcopy(content), reply_to=m) for m in others]

    def _answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        counts = node in self.measured
        self.got += counts * _size(message)
        message.content = copy.deepcopy(message.content)  # a stage takes it apart
        began = time.process_time()
        answer = secaggplus_mod(message, self.contexts[node], self._fit)
        self.seconds += counts * (time.process_time() - began)
        self.sent += counts * _size(answer)
        return answer

    def _fit(self, message: Message, _: Context) -> Message:
        parameters = ndarrays_to_parameters(self.vectors[message.metadata.dst_node_id])
        result = FitRes(Status(Code.OK, ""), parameters, num_examples=1, metrics={})
        return Message(fitres_to_recorddict(result, keep_input=True), reply_to=message)


def _size(message: Message) -> int:
    """Return the bytes of what a message holds, as Flower sends it."""
    return int(recorddict_to_proto(message.content).ByteSize())


def _context(node: int) -> Context:
    return Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})


class _Strategy:
    """Asks every user, and keeps the mean."""

    def __init__(self, users: int) -> None:
        self.users, self.mean = users, np.empty(0)

    def configure_fit(self, index: int, parameters: Any, manager: Any) -> list[Any]:
        nodes = range(1, self.users + 1)
        return [(SimpleNamespace(node_id=node), FitIns(parameters, {})) for node in nodes]

    def aggregate_fit(self, index: int, results: Any, failures: Any) -> Any:
        (self.mean,) = parameters_to_ndarrays(results[0][1].parameters)
        return None, {}


def measured(users: int, sample: int) -> tuple[float, float, float]:
    """Return bytes sent, bytes received and CPU seconds of a user, in the mean."""
    clients, strategy = Clients(users, sample), _Strategy(users)
    manager: Any = SimpleNamespace(num_available=lambda: users)
    context = LegacyContext(_context(0), strategy=strategy, client_manager=manager)  # type: ignore
    context.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({"current_round": 1})
    parameters = ndarrays_to_parameters([np.zeros(_WIDTH)])
    context.state.array_records[MAIN_PARAMS_RECORD] = parameters_to_arrayrecord(parameters, True)
    shares: int | float = 1.0 if users <= _MOST_SHARES else _MOST_SHARES
    threshold = round(_THRESHOLD * min(users, _MOST_SHARES))
    workflow = SecAggPlusWorkflow(shares, threshold, max_weight=1.0)
    as_they_are = mock.patch("random.shuffle", lambda nodes: None)
    with contextlib.suppress(_EveryoneAnswered), as_they_are:
        workflow(clients, context)  # type: ignore[arg-type]
    if users <= _CHECKED:
        expected = np.mean([vector[0] for vector in clients.vectors.values()], axis=0)
        assert np.abs(strategy.mean - expected).max() < 1e-4
    count = len(clients.measured)
    return clients.sent / count, clients.got / count, clients.seconds / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--sample", type=int, default=5, help="users of a ring who are measured")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    print("users neighbours  sends KB  gets KB  CPU ms")
    for users in asked.sizes:
        sent, got, seconds = measured(users, asked.sample)
        neighbours = min(users, _MOST_SHARES) - 1
        print(
            f"{users:5d} {neighbours:10d} {sent / 1e3:9.1f} {got / 1e3:8.1f} {1e3 * seconds:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
