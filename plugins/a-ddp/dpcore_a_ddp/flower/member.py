"""A user's own side of a deployment: its file of settings, and its answer to one question.

A process is started for each question, so that everything a user has to remember is in its ledger.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore import Schema
from dpcore.errors import DataError, replacing
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Dataset, SeededNoise, load_registry
from dpcore_a_ddp.flower.wire import Question, pack_answer, unpack_question
from dpcore_a_ddp.pools.round_ledger import FileLedger
from dpcore_a_ddp.pools.sum_rules import delta_of_rounds
from dpcore_a_ddp.pools.user_budgets import Filters
from dpcore_a_ddp.pools.user_session import UserSession, user_seed
from dpcore_a_ddp.users.messages import User

if TYPE_CHECKING:
    from dpcore_a_ddp.pools.round_ledger import RoundLedger

__all__ = ["FAILED", "Member", "answer", "opened_session"]

Mask = Callable[[int], np.ndarray]

FAILED = "This user's side failed; the reason is in its own log."


@dataclass(frozen=True, kw_only=True)
class Member:
    """The settings of a user, in a file that it keeps: no server has a say in it.

    Parameters
    ----------
    user : its name, as the server knows it.
    data, schema : its rows and their public description, as files.
    epsilon, delta : its budget.
    ledger : the file in which every round is debited before it is answered.
    relation : what its budget is about; rules of another one are refused.
    accountant : the registered name of its filter.
    members, identity, journal : of secure sums: the file of all users and their identities that the
        users agreed on, the file of this user's own, and the file of the rounds that it began.
    colluding : the listed users of whom it reckons that they may collude: it joins no secure sum
        that is safe from fewer only.
    seed : for tests only: what it sends is then not private.
    """

    user: str
    data: str
    schema: str
    epsilon: float
    delta: float
    ledger: str
    relation: str = "replace-one"
    accountant: str = "pld"
    members: str = ""
    identity: str = ""
    journal: str = ""
    colluding: int = 0
    seed: int | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Member:
        """Return the settings of a TOML file, whose paths are relative to it.

        Raises DataError, for the owner's eyes, for a file that does not hold them.
        """
        name = os.fspath(path)
        unread = DataError(f"Cannot read {name!r}: it is no TOML file of a user.")
        with replacing(OSError, ValueError, RecursionError, by=lambda _: unread):
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        missing = _KINDS.keys() - content.keys() - _OPTIONAL
        for key in (*sorted(missing), *sorted(content.keys() - _KINDS.keys())):
            raise DataError(f"{name}: the key {key!r} is {'missing' if key in missing else 'new'}.")
        for key, value in content.items():
            if type(value) not in _KINDS[key]:
                raise DataError(f"{name}: the value of {key!r} is of another kind.")
        folder = Path(path).resolve().parent
        if 0 < len(_OF_SUMS & content.keys()) < len(_OF_SUMS):
            raise DataError(f"{name}: secure sums need {', '.join(sorted(_OF_SUMS))}.")
        given = (key for key in _PATHS if key in content)
        return cls(**content | {key: str(folder / content[key]) for key in given})


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("user", "data", "schema", "ledger", "relation", "accountant"), (str,)),
    **dict.fromkeys(("members", "identity", "journal"), (str,)),
    **dict.fromkeys(("epsilon", "delta"), (float, int)),
    **dict.fromkeys(("colluding", "seed"), (int,)),
}
_OF_SUMS = {"members", "identity", "journal", "colluding"}
_OPTIONAL = {"relation", "accountant", "seed", *_OF_SUMS}
_PATHS = ("data", "schema", "ledger", "members", "identity", "journal")


def answer(member: Member, data: bytes) -> bytes:
    """Return the user's answer to a question, in bytes: a reply, or that it does not join.

    Raises DpcoreError, for the owner's eyes: nothing was sent then, and nothing debited but where
    a ledger's line says so.
    """
    question = unpack_question(data)
    if question.step is not None:
        raise InvalidInputError("Expected a question for a whole reply.")
    with opened_session(member, question) as session:
        return pack_answer(session.answer(question.round, question.w))


@contextmanager
def opened_session(
    member: Member, question: Question, mask: Mask | None = None
) -> Iterator[UserSession]:
    """Open the user's session under the rules of a question, with its rows and its ledger.

    ``mask`` : round to what a secure aggregation takes off the sum.
    """
    rules = question.rules
    if rules.relation != member.relation:
        raise InvalidInputError(
            f"The rules are for {rules.relation}, and the budget is for {member.relation}."
        )
    dataset = Dataset.from_file(member.data, _schema_of(member))
    if dataset.schema.ledger is not None:
        raise InvalidInputError(
            f"The schema names the ledger {dataset.schema.ledger!r} of the table, and a member has "
            "a budget and a ledger of its own: take the key out of the schema."
        )
    user = User(member.user, int(dataset.X.shape[0]), member.epsilon, member.delta)
    registry = load_registry()
    loss = registry.load("loss", rules.loss)()
    own_filter = registry.load("accountant", member.accountant)
    budget = member.epsilon, delta_of_rounds(rules, member.delta)
    filters = Filters(own_filter.from_budget(*budget))
    if rules.planned:
        filters.plan(rules.of_budget(user.epsilon).schedule(user.n_rows))
    empty = filters(*budget)
    noise = None if member.seed is None else SeededNoise(user_seed(member.seed, user.name))
    known = (user, dataset, loss, rules, empty, noise)
    # Without the ledger first: rules that are refused leave no trace in it.
    trial = UserSession(*known, mask=mask)
    with closing(FileLedger(member.ledger, user, rules)) as ledger:
        if noise is not None:
            _run_up(trial, ledger, question)
        yield UserSession(*known, ledger, mask)


def _schema_of(member: Member) -> Schema:
    """Return the schema of the user's rows; InvalidInputError where it has units: the process of
    each round would keep other rows of a unit."""
    schema = Schema.read(member.schema)
    if schema.unit is not None:
        raise InvalidInputError(
            f"{member.schema}: a user is charged for one row, and unit={schema.unit!r} asks for "
            "several; take unit and rows_per_unit out of it."
        )
    return schema


def _run_up(trial: UserSession, ledger: RoundLedger, question: Question) -> None:
    """Draw again what the rounds that were joined drew, so that a seeded stream goes on where the
    process before this one left it. How much of it a round takes depends on no parameters."""
    for index in ledger.entries:
        trial.answer(index, np.zeros_like(question.w))
