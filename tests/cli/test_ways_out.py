"""From the first charge on, every way out says what was charged and whether there is a model."""

import errno
import os
import signal
import subprocess
import sys

import pytest

CHARGED = "Charged, and spent: 0.0001"
"""Two counts with noise of 100 times the sensitivity: rho = 1/20,000 each."""
NONE, KEPT = "; no model of this run was kept.", "; the model is in 'm.json'."


def raises(make_error):
    def broken(*arguments, **options):
        raise make_error()

    return broken


def after(monkeypatch, target, make_error):
    """Let ``target`` do its work and raise then."""
    module, name = target.rsplit(".", 1)
    real = getattr(__import__(module, fromlist=[name]), name)

    def broken(*arguments, **options):
        real(*arguments, **options)
        raise make_error()

    monkeypatch.setattr(target, broken)


def line(result):
    (told,) = result.stderr.splitlines()
    return told


def full():
    return OSError(errno.ENOSPC, "No space left on device")


def unread():
    return BrokenPipeError(errno.EPIPE, "Broken pipe")


ENDS = [
    ("dpcore.fitting.run.finish", KeyboardInterrupt, 130, "dpcore: stopped. "),
    ("dpcore.fitting.run.state", full, 2, "dpcore: No space left on device. "),
]


@pytest.mark.parametrize(("target", "error", "status", "start"), ENDS)
def test_between_the_last_release_and_the_file(
    train, folder, monkeypatch, target, error, status, start
):
    monkeypatch.setattr(target, raises(error))
    result = train("--out", "m.json")
    assert result.exit_code == status and not (folder / "m.json").exists()
    assert line(result).startswith(start + CHARGED) and line(result).endswith(NONE)


@pytest.mark.parametrize(
    ("target", "error", "status", "start"),
    [
        ("dpcore.cli.training._print", KeyboardInterrupt, 130, "dpcore: stopped. "),
        ("dpcore.cli.training._print", full, 2, "dpcore: No space left on device. "),
        ("dpcore.cli.training._print", unread, 1, "dpcore: nobody read"),
        # The file is in its place and nobody was told yet.
        ("dpcore.model.model.write_model_file", KeyboardInterrupt, 130, "dpcore: stopped. "),
    ],
)
def test_after_the_model_was_saved(train, monkeypatch, target, error, status, start):
    after(monkeypatch, target, error)
    result = train("--out", "m.json")
    assert result.exit_code == status
    assert line(result).startswith(start) and CHARGED in line(result)
    assert line(result).endswith(KEPT)


def test_a_model_that_cannot_be_saved(train, folder, monkeypatch):
    (folder / "m.json").write_text("")
    monkeypatch.setattr(os, "replace", raises(full))
    result = train("--out", "m.json")
    assert result.exit_code == 2 and (folder / "m.json").read_text() == ""
    assert line(result).startswith("dpcore: Cannot write 'm.json': No space left on device. Char")
    assert CHARGED in line(result) and line(result).endswith("; the model is not in 'm.json'.")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_fit(heard, train, monkeypatch, number):
    import dpcore_stub

    real = dpcore_stub.Stub.minimize

    def minimize(self, problem, session):
        real(self, problem, session)
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    monkeypatch.setattr(dpcore_stub.Stub, "minimize", minimize)
    result = train("--out", "m.json")
    assert signal.getsignal(number) is before
    assert result.exit_code == 130
    assert line(result).startswith(f"dpcore: stopped. {CHARGED}") and line(result).endswith(NONE)


def test_a_signal_that_is_ignored_stays_so(train, folder, monkeypatch):
    """As under nohup."""
    monkeypatch.setattr(
        "dpcore.cli.training._print", lambda *_: os.kill(os.getpid(), signal.SIGHUP)
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert train("--out", "m.json").exit_code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_optimizer_that_breaks_or_has_too_small_a_budget(train, monkeypatch):
    import dpcore_stub

    monkeypatch.setattr(dpcore_stub, "Solution", raises(lambda: ValueError("a private 42")))
    broken = line(train("--out", "m.json"))
    assert broken.startswith("dpcore: stub (dpcore-stub 0.3) failed: ValueError in ")
    assert CHARGED in broken and broken.endswith(NONE) and "42" not in broken
    refused = line(train("--set", "counts=100000"))
    assert "accountant's budget" in refused and refused.endswith(NONE)
    assert "rho. Charged, and spent: 0.0" in refused.replace("remains", "rho")


def test_in_python_too(stub, monkeypatch, tmp_path):
    import dpcore_stub
    import numpy as np

    from dpcore import fit
    from dpcore.errors import InvalidInputError, OptimizerError

    def fitted():
        return fit(np.eye(4), [1, -1, 1, -1], algo="stub")

    def minimize(self, problem, session):
        real(self, problem, session)
        raise RuntimeError("a private 42")

    model = fitted()
    with pytest.raises(InvalidInputError, match="Cannot write") as caught:
        model.save(tmp_path / "no" / "m.json")
    (note,) = caught.value.__notes__
    assert note.startswith(CHARGED) and note.endswith("no/m.json'.") and "is not in" in note

    monkeypatch.setattr("dpcore.fitting.rows.in_memory.finish", raises(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as stopped:
        fitted()
    assert stopped.value.__notes__[0].startswith(CHARGED)

    real = dpcore_stub.Stub.minimize
    monkeypatch.setattr(dpcore_stub.Stub, "minimize", minimize)
    with pytest.raises(OptimizerError, match="RuntimeError in") as failed:
        fitted()
    (note,) = failed.value.__notes__
    assert note.startswith(CHARGED) and note.endswith(NONE)


def test_before_the_first_charge(train, monkeypatch):
    monkeypatch.setattr("dpcore.fitting.run_sessions.run_optimizer", raises(KeyboardInterrupt))
    assert line(train()) == "dpcore: stopped. Nothing was charged" + NONE
    monkeypatch.setattr(
        "dpcore.fitting.request.run_request.DataRequest.load", raises(KeyboardInterrupt)
    )
    assert line(train()) == "dpcore: stopped; nothing was written."


def test_users_who_keep_their_rows_are_told_of_too(run, folder, monkeypatch):
    arguments = ("--algo", "sgd-maj", "--data", "rows.csv", "--schema", "schema.toml")
    whole = run("train", *arguments, "--relation", "replace-one")
    assert whole.stderr.count("noise dominates this run") == 1
    monkeypatch.setattr("dpcore_a_ddp.users.user_fits.Users.stated", raises(KeyboardInterrupt))
    result = run("train", *arguments, "--relation", "replace-one")
    assert result.exit_code == 130
    warned, stopped = result.stderr.splitlines()
    assert warned.startswith("dpcore: noise dominates this run")
    assert stopped.startswith("dpcore: stopped. Charged, and spent: ")
    assert "rounds of the user who may join most; no model" in stopped


@pytest.mark.slow
def test_a_name_that_the_terminal_cannot_show_ends_no_run(folder):
    (folder / "r\udcff.csv").write_bytes((folder / "rows.csv").read_bytes())
    arguments = ("train", "--data", "r\udcff.csv", "--schema", "schema.toml", "--out", "m.json")
    done = subprocess.run(
        [sys.executable, "-m", "dpcore", *arguments],
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"on r\\udcff.csv: " in done.stdout and (folder / "m.json").exists()
