"""What is kept of a violation, and counted again."""

import json
from dataclasses import replace

import pytest

from dpcore.errors import EngineError, InvalidInputError
from dpcore_lab.audit.draws import Draws
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.one_run import audit_one_run, guesses
from dpcore_lab.audit.releases import audit_releases
from dpcore_lab.audit.saved import load, save_releases, save_rows, save_worlds
from dpcore_lab.audit.two_world import audit_worlds
from dpcore_lab.audit.verdict import verdict, verdict_again


def changed(path, change):
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))


@pytest.mark.slow
def test_two_tables_are_counted_again(tmp_path):
    path = tmp_path / "a.json"
    fits = Fits(Request("outpert", epsilon=40.0, seed=3))
    finding = audit_worlds(fits.claim, fits.draw, 2, 40)
    save_worlds(path, fits, finding)
    found = load(path).finding()
    assert found.counts == finding.counts and load(path).fits.request == fits.request
    told = verdict_again(path, 1).told
    assert told["counts"]["hits"] == finding.counts.hits and not told["violation"]
    changed(path, lambda told: told["tables"]["here"]["X"][0].__setitem__(0, 0.5))
    with pytest.raises(InvalidInputError, match="tables that this dpcore does not make"):
        verdict_again(path, 1)
    for other in ("{}", "[" * 10**5, "9" * 5000):
        path.write_text(other)
        with pytest.raises(InvalidInputError, match="no file of an audit"):
            load(path)


@pytest.fixture
def quiet(monkeypatch):
    """Draw half of the noise that is charged."""
    honest = Draws.__init__

    def begin(self, release, noise):
        multiplier = release.mechanism.noise_multiplier / 2
        mechanism = replace(release.mechanism, noise_multiplier=multiplier)
        honest(self, replace(release, mechanism=mechanism), noise)

    monkeypatch.setattr(Draws, "__init__", begin)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1])
def test_answers_of_a_release_are_drawn_on_again(tmp_path, quiet, seed):
    # Half of the noise shows twice the mu, six deviations of 2,000 draws beyond what is claimed.
    path = tmp_path / "a.json"
    request = Request("outpert", loss="huber-svm", relation="replace-one", epsilon=4.0, seed=seed)
    found = verdict(request, "releases", 4_000, 1, path)
    assert found.is_violation and f"--again {path}" in found.lines[-1]
    told = json.loads(path.read_text())["releases"]
    assert [one["release"] for one in told] == ["minimizer by Gaussian"]
    again = verdict_again(path, 1)
    assert again.is_violation and (seed is None or again.told == found.told)
    changed(path, lambda told: told["releases"][0]["answers"]["here"].__setitem__(0, 2**60))
    with pytest.raises(InvalidInputError, match="answers that this dpcore does not make"):
        verdict_again(path, 1)


def test_a_last_digit_is_no_other_answer(tmp_path):
    fits = Fits(Request("outpert", epsilon=4.0, seed=1))
    found = [replace(one, fault="made up") for one in audit_releases(fits, 40)]
    save_releases(tmp_path / "a.json", fits, found, 40)
    ends = json.loads((tmp_path / "a.json").read_text())["releases"][0]["answers"]
    largest = max(range(len(ends["here"])), key=lambda k: abs(ends["here"][k]))

    def one_more(told):
        told["releases"][0]["answers"]["here"][largest] += 1

    changed(tmp_path / "a.json", one_more)
    load(tmp_path / "a.json").require_answers(found)


def test_one_run_is_made_again(tmp_path):
    fits = Fits(Request("outpert", epsilon=200.0, seed=1))
    found = audit_one_run(fits, 100, 1)
    save_rows(tmp_path / "a.json", fits, found)
    rows = json.loads((tmp_path / "a.json").read_text())["rows"]
    inside = set(rows["in"])
    right = [k in inside for k in rows["guessed_in"]] + [
        k not in inside for k in rows["guessed_out"]
    ]
    assert sum(right) == found.right and len(right) == found.guessed == 50
    assert verdict_again(tmp_path / "a.json", 1).told["right"] == found.right


def test_a_violation_by_one_run_leaves_a_file(tmp_path, monkeypatch):
    def all_right(fits, canaries, seed):
        return guesses(fits.claim, canaries, 50, 50)

    monkeypatch.setattr("dpcore_lab.audit.one_run.audit_one_run", all_right)
    path = tmp_path / "a.json"
    found = verdict(Request("outpert", epsilon=0.1, delta=1e-12, seed=1), "one-run", 100, 1, path)
    assert found.is_violation and f"--again {path}" in found.lines[-1]
    assert verdict_again(path, 1).is_violation


def test_a_process_that_ends_by_itself_is_told(monkeypatch):
    from concurrent.futures.process import BrokenProcessPool
    from contextlib import contextmanager

    from dpcore_lab.audit import processes

    @contextmanager
    def broken(jobs, prepare, *values):
        yield None
        raise BrokenProcessPool

    monkeypatch.setattr(processes, "spawned", broken)
    fits = Fits(Request("outpert", seed=1))
    with pytest.raises(EngineError, match="fewer --jobs"), processes.drawing(fits, 2):
        raise BrokenProcessPool
