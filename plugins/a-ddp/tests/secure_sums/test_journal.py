"""A user's journal of rounds: what a restart does not forget."""

import os

import pytest
from sum_users import Group, light_primitives

from dpcore.errors import InvalidInputError
from dpcore_a_ddp.secure_sums.journal import FileJournal


def test_each_step_is_synced_before_its_message_leaves(tmp_path, monkeypatch):
    light_primitives(monkeypatch)
    group, path, synced = Group(), tmp_path / "journal", []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(path.read_bytes()), sync(fd)))
    users = group.users()
    users[2] = group.user(2, journal=FileJournal(path))
    lines = []

    def carry(step, place, data):
        if place == 2 and step % 2 == 0:
            assert synced[-1] == path.read_bytes()
            lines.append(path.read_text().splitlines()[-1])
        return data

    group.run(carry, users)
    steps = ["advertised", "shared", "masked", "agreed", "revealed"]
    assert [f'"step": "{step}"' in line for step, line in zip(steps, lines, strict=True)] == 5 * [
        True
    ]


def test_no_secret_is_in_the_file(tmp_path, monkeypatch):
    light_primitives(monkeypatch)
    group, path = Group(), tmp_path / "journal"
    users = group.users()
    users[2] = group.user(2, journal=FileJournal(path))
    group.run(users=users)
    assert set(path.read_text()) <= set('{}":, \nabcdefghijklmnopqrstuvwxyz0123456789')
    assert path.stat().st_mode & 0o77 == 0
    assert path.stat().st_size < 500


def test_a_line_that_was_cut_short_is_cut_off(tmp_path):
    path = tmp_path / "journal"
    first = FileJournal(path)
    assert first.begin(3)
    first.close()
    with open(path, "ab") as file:
        file.write(b'{"round": 9')
    again = FileJournal(path)
    assert (again.last, again.step) == (3, "advertised")
    assert not again.begin(3) and again.begin(4)
    again.close()


@pytest.mark.parametrize(
    "text",
    [
        "what\n",
        '{"format": "other"}\n',
        '{"format": "dpcore secure sums journal 1"}\n[]\n',
        '{"format": "dpcore secure sums journal 1"}\n{"round": 4}\n{"round": 3}\n',
    ],
)
def test_a_damaged_journal_is_refused(tmp_path, text):
    path = tmp_path / "journal"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="is no journal of rounds"):
        FileJournal(path)


def test_one_process_has_a_journal_at_a_time(tmp_path):
    first = FileJournal(tmp_path / "journal")
    with pytest.raises(InvalidInputError, match="in use by another process"):
        FileJournal(tmp_path / "journal")
    first.close()
    FileJournal(tmp_path / "journal").close()
