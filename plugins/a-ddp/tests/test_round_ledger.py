"""A user's ledger as a file: whatever interrupts, nothing is spent or drawn twice."""

import json
import multiprocessing
import os
import signal

import numpy as np
import pytest
from pool_users import USERS, make_data, make_rules, open_user

from dpcore.errors import InvalidInputError
from dpcore_a_ddp.pools.round_ledger import FileLedger
from dpcore_a_ddp.users.messages import Declined, Reply


def open_with_file(path, rules=None, place=0, seed=None, ledger_class=FileLedger):
    data = make_data()
    rules = rules or make_rules(data)
    return open_user(
        data, rules, place=place, seed=seed, ledger=ledger_class(path, USERS[place], rules)
    )


W = np.zeros(7)


def test_spending_goes_on_where_it_ended(tmp_path):
    path = tmp_path / "a.ledger"
    user = open_with_file(path)
    sent = [user.answer(i, W) for i in range(2)]
    user._ledger.close()
    again = open_with_file(path)
    assert again.rounds_joined == 2
    # A retry after the restart gets what was stored, from other entropy.
    assert [again.answer(i, W).values.tolist() for i in range(2)] == [
        reply.values.tolist() for reply in sent
    ]
    assert isinstance(again.answer(2, W), Reply)
    assert isinstance(again.answer(3, W), Declined)  # three rounds are the budget
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("sampling", ["one-row", "pass"])
def test_a_restart_at_every_round_joins_no_more_than_one_long_run(tmp_path, sampling):
    rules = make_rules(make_data(), sampling=sampling)
    joined = {}
    for name, every in (("whole", 1000), ("restarted", 1)):
        path, user = tmp_path / name, None
        for index in range(24):
            if user is None or index % every == 0:
                if user is not None:
                    user._ledger.close()
                user = open_with_file(path, rules)
            user.answer(index, W)
        joined[name] = user.rounds_joined
    assert joined["whole"] == joined["restarted"] == (3 if sampling == "one-row" else 24)


def test_nothing_is_drawn_on_a_debit_that_the_disk_does_not_keep(tmp_path, monkeypatch):
    user = open_with_file(tmp_path / "a.ledger")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        user.answer(0, W)
    assert user.rounds_joined == 0


def killed_between(path, method):
    """Join round 0 and die inside ``method``, right after its line is on the disk."""

    class Fatal(FileLedger):
        def charge(self, entry):
            super().charge(entry)
            if method == "charge":
                os.kill(os.getpid(), signal.SIGKILL)

        def store(self, index, values, asked):
            super().store(index, values, asked)
            if method == "store":
                os.kill(os.getpid(), signal.SIGKILL)

    open_with_file(path, ledger_class=Fatal).answer(0, W)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "after"), [("charge", Declined), ("store", Reply)])
def test_killed_between_debit_and_send(tmp_path, method, after):
    path = str(tmp_path / "a.ledger")
    process = multiprocessing.get_context("spawn").Process(
        target=killed_between, args=(path, method)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    user = open_with_file(path)
    assert user.rounds_joined == 1  # debited, whatever came of it
    first = user.answer(0, W)
    assert isinstance(first, after)
    if after is Reply:
        assert first.values.tolist() == user.answer(0, W).values.tolist()
    assert user.rounds_joined == 1
    kinds = [type(user.answer(i, W)) for i in range(1, 4)]
    assert kinds == [Reply, Reply, Declined]


def try_to_open(path, queue):
    try:
        open_with_file(path)
    except InvalidInputError as error:
        queue.put(str(error))
    else:
        queue.put("opened")


@pytest.mark.slow
def test_two_processes_cannot_spend_it_twice(tmp_path):
    path = str(tmp_path / "a.ledger")
    held = open_with_file(path)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=try_to_open, args=(path, queue))
    process.start()
    assert "in use by another process" in queue.get(timeout=60)
    process.join()
    with pytest.raises(InvalidInputError, match="in use"):
        open_with_file(path)  # nor twice in one process
    held._ledger.close()
    assert open_with_file(path).rounds_joined == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda data: {"rules": make_rules(data, noise_multiplier=5.0)},
        lambda data: {"rules": make_rules(data, clip=2.0)},
        lambda data: {"place": 2},
    ],
)
def test_a_ledger_of_another_user_or_other_rules_is_refused(tmp_path, change):
    path = tmp_path / "a.ledger"
    open_with_file(path)._ledger.close()
    with pytest.raises(InvalidInputError, match="of another user, of other rules"):
        open_with_file(path, **change(make_data()))


def test_a_ledger_with_the_word_of_before_is_read(tmp_path):
    path = tmp_path / "a.ledger"
    user = open_with_file(path)
    user.answer(0, W)
    user._ledger.close()
    path.write_text(path.read_text().replace('"rules"', '"terms"', 1))
    assert open_with_file(path).rounds_joined == 1


def test_a_line_cut_short_was_never_acted_on(tmp_path):
    path = tmp_path / "a.ledger"
    user = open_with_file(path)
    user.answer(0, W)
    user._ledger.close()
    with open(path, "ab") as file:
        file.write(b'{"debit": 1')
    again = open_with_file(path)
    assert again.rounds_joined == 1
    assert isinstance(again.answer(1, W), Reply)
    again._ledger.close()
    assert open_with_file(path).rounds_joined == 2


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'{"debit": "1"}',
        b'{"debit": 0}',
        b'{"reply": 7, "values": ""}',
        b'{"reply": 0, "values": "AAAA"}',
        b'{"debit": -1}',
        b'{"debit": 1}\n{"reply": 1, "values": "A"}',
        b"[" * 10**5,
        b"9" * 5000,
        b"{}",
    ],
)
def test_any_other_damage_is_refused(tmp_path, line):
    path = tmp_path / "a.ledger"
    user = open_with_file(path)
    user.answer(0, W)
    user._ledger.close()
    with open(path, "ab") as file:
        file.write(line + b"\n")
    with pytest.raises(InvalidInputError, match="damaged in line [45]"):
        open_with_file(path)


def test_what_the_file_holds_is_what_was_sent_and_nothing_else(tmp_path):
    path = tmp_path / "a.ledger"
    user = open_with_file(path)
    user.answer(0, W)
    keys = [sorted(json.loads(line)) for line in path.read_text().splitlines()]
    assert keys[1:] == [["debit"], ["asked", "reply", "values"]]
    assert keys[0] == ["budget", "format", "rows", "rules", "user"]
