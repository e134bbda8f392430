"""The journal: locked before it is read, cut or begun, and whatever befalls it named."""

import fcntl
import json
import resource

import pytest

from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore_lab.compare.journal import journal_path, open_journal

SETTINGS, KEY = {"folds": 2}, b"k" * 32


def row(fold):
    return {"data": "d", "fold": fold, "algorithm": "a", "epsilon": 1.0, "repeat": 0}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "r.parquet"


@pytest.fixture
def begun(out):
    """A journal of one fit, and its bytes."""
    journal = open_journal(out, SETTINGS, {}, KEY)
    journal.append(row(0))
    journal.close()
    return journal_path(out).read_bytes()


def test_it_goes_on_without_a_line_that_is_not_whole(out, begun):
    journal_path(out).write_bytes(begun + b'{"data": "d')
    journal = open_journal(out, SETTINGS, {}, b"other")
    assert (journal.key, list(journal.rows.values())) == (KEY, [row(0)])
    journal.append(row(1))
    journal.close()
    lines = journal_path(out).read_bytes().removeprefix(begun).splitlines()
    assert [json.loads(line) for line in lines] == [row(1)]


def test_one_that_another_run_has_is_not_cut(out, begun):
    """The other run may be in the middle of that line."""
    journal_path(out).write_bytes(begun + b'{"data": "d')
    with journal_path(out).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InvalidInputError, match="Another run is writing"):
            open_journal(out, SETTINGS, {}, KEY)
    assert journal_path(out).read_bytes() == begun + b'{"data": "d'


def before_the_lock(monkeypatch, act):
    """Let another run act on the journal just before this one has it to itself."""
    lock = fcntl.flock

    def late(*arguments):
        act()
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", late)


def test_what_was_written_until_the_lock_is_read(out, begun, monkeypatch):
    line = json.dumps(row(1)).encode() + b"\n"
    before_the_lock(monkeypatch, lambda: journal_path(out).write_bytes(begun + line))
    journal = open_journal(out, SETTINGS, {}, KEY)
    assert list(journal.rows.values()) == [row(0), row(1)]
    journal.close()


def test_one_that_was_removed_until_the_lock_is_told_of(out, begun, monkeypatch):
    before_the_lock(monkeypatch, journal_path(out).unlink)
    with pytest.raises(InvalidInputError, match="Another run finished .* give the command again"):
        open_journal(out, SETTINGS, {}, KEY)


@pytest.mark.parametrize("size", [0, 5, 60])
def test_one_without_a_whole_header_is_begun_anew(out, begun, size):
    journal_path(out).write_bytes(begun[:size])
    journal = open_journal(out, SETTINGS, {}, b"other")
    assert (journal.key, journal.rows) == (b"other", {})
    journal.close()
    assert json.loads(journal_path(out).read_text())["settings"] == SETTINGS


OTHERS = (
    b"a shopping list",
    b"a shopping list\n",
    b"{}\n",
    b"[" * 10**5 + b"\n",
    b"9" * 5000 + b"\n",
)


@pytest.mark.parametrize("content", OTHERS, ids=lambda content: content[:20].decode())
def test_another_file_is_left_alone(out, content):
    journal_path(out).write_bytes(content)
    with pytest.raises(DataError, match=r"journal' is no journal of a comparison"):
        open_journal(out, SETTINGS, {}, KEY)
    assert journal_path(out).read_bytes() == content


@pytest.fixture
def disk(monkeypatch):
    """Let a file hold so many bytes at most: a full disk, to who writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_with_the_file_and_loses_no_fit(out, disk):
    journal = open_journal(out, SETTINGS, {}, KEY)
    journal.append(row(0))
    disk(journal_path(out).stat().st_size + 9)
    with pytest.raises(DpcoreError, match=r"Cannot write '.*r\.parquet\.journal': .*It keeps the"):
        journal.append(row(1))
    journal.close()
    disk(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    again = open_journal(out, SETTINGS, {}, KEY)
    assert list(again.rows.values()) == [row(0)]
    again.append(row(1))
    again.remove()
    assert not journal_path(out).exists()


def test_it_is_readable_by_its_owner_only(out, begun):
    assert journal_path(out).stat().st_mode & 0o077 == 0
