"""One fit of an external: what it is handed, what it may write, and its ends."""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.externals import External
from dpcore_lab.externals.process import Caps
from dpcore_lab.externals.run import Request, check_external, run_external

from .conftest import X, arrow, rows_of

SECRET = "4711"


LONG = Caps(20.0, 2.0)


def end_of(script, *words, caps=LONG, test=None):
    """Return how a shell script ended, whose ``$1`` is the folder, and ``$2`` the first word."""
    # The folder is the last argument: it is put before the others.
    text = f'for each; do last=$each; done; set -- "$last" "$@"; {script}'
    external = External("made", ("/bin/sh", "-c", text, "made", *map(str, words)), "Made.")
    test = rows_of() if test is None else test
    request = Request(rows_of(), test, 1.0, 1e-6, "add-or-remove-one")
    return run_external(external, request, caps)


@pytest.fixture
def written(tmp_path):
    """Return what makes a script that leaves a content as its predictions."""

    def script(content):
        (tmp_path / "content").write_bytes(content)
        return end_of('cp "$2" "$1/predictions.arrow"', tmp_path / "content")

    return script


def test_predictions_of_the_test_rows_come_back(written):
    outcome = written(arrow([0.0, 0.25, 1.0]))
    assert (outcome.status, outcome.message) == ("finished", "")
    np.testing.assert_array_equal(outcome.predictions, [0.0, 0.25, 1.0])


def test_it_is_handed_encoded_rows_and_public_facts(tmp_path):
    end_of('cp "$1"/* "$2"', tmp_path)
    request = json.loads((tmp_path / "request.json").read_text())
    budget = [request[name] for name in ("task", "epsilon", "delta", "relation")]
    assert budget == ["classes", 1.0, 1e-6, "add-or-remove-one"]
    assert request["columns"] == [
        {"name": "age", "kind": "number", "lower": 0.0, "upper": 1.0},
        {"name": "city", "kind": "category", "levels": ["city=Bern", "city=Genf"]},
    ]
    assert np.linalg.norm(X[:, :-1], axis=1).max() <= request["norm"] == pytest.approx(2**0.5)
    train, test = (pa.ipc.open_file(tmp_path / f"{n}.arrow").read_all() for n in ("train", "test"))
    assert train.to_pydict() == {
        "age": [0.25, 0.5, 1.0],
        "city": ["city=Bern", "city=Genf", None],
        "label": [0, 1, 1],
    }
    assert test.column_names == ["age", "city"]


def test_rows_are_readable_by_their_owner_only_and_removed(tmp_path):
    modes = 'stat -c %a "$1" "$1"/train.arrow "$1"/test.arrow "$1"/request.json > "$2/modes"'
    end_of(f'{modes}; echo "$1" > "$2/where"; echo more > "$1/more"', tmp_path)
    assert (tmp_path / "modes").read_text().split() == ["700", "600", "600", "600"]
    assert not Path((tmp_path / "where").read_text().strip()).exists()


def test_it_has_no_variables_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", SECRET)
    end_of('env > "$2/variables"', tmp_path)
    assert SECRET not in (tmp_path / "variables").read_text()


def test_what_a_failed_fit_printed_is_not_shown():
    outcome = end_of(f"echo {SECRET}; echo row {SECRET} is wrong >&2; exit 3")
    assert outcome.status == "failed" and "exit status 3" in outcome.message
    assert SECRET not in repr(outcome)


def test_what_it_printed_is_kept_where_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("DPCORE_EXTERNAL_LOGS", str(tmp_path))
    outcome = end_of(f"echo {SECRET} >&2; exit 3")
    (log,) = tmp_path.glob("*.log")
    assert str(log) in outcome.message and log.read_text() == f"{SECRET}\n"
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (arrow([0.5, 0.5]), "more or fewer"),
        (arrow([0.5] * 4), "more or fewer"),
        (arrow([0.5, float("nan"), 0.5]), "no finite numbers"),
        (arrow([0.5, None, 0.5]), "no finite numbers"),
        (arrow([0.5, 1.5, 0.5]), "no probabilities"),
        (arrow([SECRET, "a", "b"]), "no Arrow file"),
        (arrow([0.5] * 3, "other"), "no Arrow file"),
        (SECRET.encode(), "no Arrow file"),
        (b"\0" * (2**20 + 1000), "of a size that fits"),
    ],
)
def test_other_predictions_are_a_failed_fit(written, content, message):
    outcome = written(content)
    assert outcome.status == "failed" and message in outcome.message
    assert outcome.predictions is None and SECRET not in outcome.message


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("true", "no predictions"),
        ('ln -s "$2" "$1/predictions.arrow"', "no plain file"),
        ('ln "$2" "$1/predictions.arrow"', "no plain file"),
        ('mkfifo "$1/predictions.arrow"', "no plain file"),
        ('mkdir "$1/predictions.arrow"', "no plain file"),
    ],
)
def test_predictions_are_a_plain_file_of_its_own(script, message, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # A hard link stays on one disk.
    (tmp_path / "another").write_bytes(arrow([0.5] * 3))
    outcome = end_of(script, tmp_path / "another")
    assert outcome.status == "failed" and message in outcome.message
    assert (tmp_path / "another").exists()


def is_gone(pid):
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_a_cap_of_time_ends_all_that_it_started(tmp_path):
    script = 'sleep 600 & echo $! > "$2/child"; sleep 600'
    outcome = end_of(script, tmp_path, caps=Caps(0.4, 2.0))
    assert (outcome.status, outcome.message) == ("capped", "stopped at its cap of 0.4 seconds.")
    assert is_gone(int((tmp_path / "child").read_text()))


def test_a_cap_of_memory_counts_what_it_started():
    python = f"{sys.executable} -S -E -c 'import time; x = bytes(1) + bytearray(150 << 20)"
    outcome = end_of(f"{python}; time.sleep(600)' & wait", caps=Caps(60.0, 0.1))
    assert outcome.status == "capped" and outcome.message.endswith("0.1 GiB of memory.")
    assert outcome.memory > 0.1 * 2**30


def test_what_is_left_running_ends_with_it(tmp_path):
    outcome = end_of('sleep 600 & echo $! > "$2/child"', tmp_path)
    assert outcome.status == "failed"  # It wrote nothing.
    assert is_gone(int((tmp_path / "child").read_text()))


def test_an_interrupt_removes_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # A run in the background ignores SIGINT itself.
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            end_of(f"sleep 0.5; kill -USR1 {os.getpid()}; sleep 600")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("caps", [(0.0, 1.0), (1.0, -1.0), (float("inf"), 1.0)])
def test_caps_are_finite(caps):
    with pytest.raises(InvalidInputError, match="Expected a cap"):
        Caps(*caps)


def test_an_executable_that_is_not_there_is_refused_with_what_to_do():
    external = External("made", ("/nowhere/at/all",), "Made.", remedy="Make it.")
    with pytest.raises(InvalidInputError, match=r"made is not there\. Make it\."):
        check_external(external)
