"""``dpcore check``: a line for each check, and an exit status."""

import importlib
import json
from dataclasses import dataclass

import numpy as np
import pytest

from dpcore.plugin import Gaussian, Solution
from dpcore_lab.checks import Outcome, Tested

TESTED = Tested(
    "ten rows", "a row in nine", ("other rows", "no rows"), ("rows 1 to 9", "threads 2")
)


@pytest.mark.parametrize("ok", [True, False])
def test_check_says_what_was_tested_with_what_power_and_what_was_not(run, monkeypatch, ok):
    second = Outcome("check_second", ok, Tested(""), "" if ok else "it leaks")
    outcomes = [Outcome("check_first", True, TESTED), second]
    monkeypatch.setattr("dpcore_lab.checks.run.outcomes_of", lambda part, kind: outcomes)
    result = run("check", "stub")
    assert result.exit_code == (0 if ok else 1)
    assert result.stdout.splitlines() == [
        "ok      check_first: ten rows",
        "        power: a row in nine",
        "        ranges: rows 1 to 9; threads 2",
        "        not tested: other rows; no rows",
        "ok      check_second" if ok else "FAILED  check_second: it leaks",
    ]
    told = json.loads(run("check", "stub", "--json").stdout)
    assert (told["name"], told["kind"], told["passed"]) == ("stub", "optimizer", ok)
    assert told["checks"][0]["not_tested"] == ["other rows", "no rows"]
    assert told["checks"][1]["reason"] == ("" if ok else "it leaks")


def test_a_line_is_printed_as_its_check_ends(run, monkeypatch):
    printed = []

    def outcomes(part, kind):
        for name in ("first", "second"):
            yield Outcome(f"check_{name}", True, TESTED)
            printed.append(f"after {name}")

    monkeypatch.setattr("dpcore_lab.checks.run.outcomes_of", outcomes)
    monkeypatch.setattr(
        "dpcore_lab.commands.check.print_lines", lambda line: printed.append(line.split()[1])
    )
    run("check", "stub")
    wanted = ["check_first:", "after first", "check_second:", "after second"]
    assert [line for line in printed if line in wanted] == wanted


def test_a_missed_threshold_of_utility_is_no_fault_of_privacy(run, monkeypatch):
    below = Outcome("check_limit", False, Tested(""), "it reaches half", of_utility=True)
    outcomes = [below, Outcome("check_first", True, TESTED)]
    monkeypatch.setattr("dpcore_lab.checks.run.outcomes_of", lambda part, kind: outcomes)
    result = run("check", "stub")
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-2:] == [
        "Utility, which is no fault of privacy:",
        "below   check_limit: it reaches half",
    ]
    told = json.loads(run("check", "stub", "--json").stdout)
    assert (told["passed"], told["useful"]) == (True, False)


def test_check_of_an_unknown_name(run):
    result = run("check", "stubb")
    assert result.exit_code == 2 and "Did you mean stub" in result.stderr


@pytest.mark.parametrize(
    ("name", "kind"),
    # "quantile is no optimizer" was said of every name but an optimizer's.
    [("stub", "optimizer"), ("gaussian", "mechanism"), ("zcdp", "accountant"),
     ("logistic", "loss"), ("stub-rows", "dataset"), ("local", "engine")],
)  # fmt: skip
def test_check_finds_the_kind_of_a_name(run, monkeypatch, name, kind):
    monkeypatch.setattr("dpcore_lab.checks.run.outcomes_of", lambda part, kind: [])
    assert json.loads(run("check", name, "--json").stdout)["kind"] == kind


def test_check_takes_a_class_of_ones_own(run, tmp_path, monkeypatch):
    (tmp_path / "own_loss.py").write_text(
        "from dpcore.losses.logistic import Logistic\n\n\nclass Louder(Logistic):\n"
        "    lipschitz = 0.5\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run("check", "own_loss:Louder")
    assert result.exit_code == 1
    assert "FAILED  check_loss" in result.stdout and "declared lipschitz" in result.stdout
    assert "Cannot import own_loss:Quieter" in run("check", "own_loss:Quieter").stderr
    assert (
        "There is no kind 'los'. Did you mean loss"
        in run("check", "own_loss:Louder", "--kind", "los").stderr
    )


def test_a_name_of_two_kinds_asks_for_the_kind(run, monkeypatch):
    from dpcore.plugin.parts import load_registry

    registry = load_registry()
    both = (registry.get("mechanism", "gaussian"), registry.get("loss", "logistic"))
    monkeypatch.setattr(type(registry), "find", lambda self, name: both)
    result = run("check", "gaussian")
    assert result.exit_code == 2 and "of mechanism and loss: say --kind which" in result.stderr


@pytest.mark.slow
def test_train_names_the_command_that_checks_a_foreign_part_at_its_sizes(run, train):
    told = train().stdout
    line = "dpcore check stub --like schema.toml --rows 6 --epsilon 1 --algo stub"
    line += " --accountant zcdp --use count=gaussian --loss logistic"
    assert f"To check at this run's sizes: {line}\n" in told
    arguments = line.split()[1:]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Like a run of 6 rows (1 block) of 4 features, 2 classes")
    assert "ok      query RowCount at the run's sizes" in result.stdout


def leaks_in_some_runs(stub, usual=2):
    """Return an optimizer that counts rows twice in its third count, and under the logistic loss.
    It is checked with two counts, and with another loss."""

    class Doubled(stub.RowCount):
        def answer_block(self, block):
            return 2 * super().answer_block(block)

    @dataclass(frozen=True, kw_only=True)
    class Leaks(stub.Stub):
        counts: int = usual

        slots, relations, needs = stub.Stub.slots, stub.Stub.relations, ()
        checked_loss, checked_with = "hinge-svm", {"counts": 2}

        def minimize(self, problem, session):
            for k in range(self.counts):
                is_double = k == 2 or problem.loss.name == "logistic"
                query = (Doubled if is_double else stub.RowCount)()
                session.release(query, Gaussian(100.0))
            return Solution(np.zeros(problem.n_features), "All counts were made.")

    Leaks.__module__, Leaks.__qualname__ = "dpcore_stub", "Stub"
    return Leaks


@pytest.mark.slow
@pytest.mark.parametrize("given", [("--set", "counts=3"), ("--loss", "logistic")])
def test_a_check_has_the_loss_and_the_parameters_of_the_run(run, train, monkeypatch, given):
    # What leaked in a run of 60 steps, or of another loss than that of the checks, passed.
    stub = importlib.import_module("dpcore_stub")
    monkeypatch.setattr(stub, "Stub", leaks_in_some_runs(stub))
    usual = run("check", "stub", "--like", "schema.toml")
    assert usual.exit_code == 0, usual.output
    told = train("--loss", "hinge-svm", *given).stdout if given[0] == "--set" else train().stdout
    (line,) = (each for each in told.splitlines() if each.startswith("To check"))
    assert line.endswith(" ".join(given))
    found = run(*line.split(": dpcore ")[1].split())
    assert found.exit_code == 1 and "moved by more than the declared l2" in found.stdout


@pytest.mark.slow
def test_a_check_at_the_sizes_of_a_run_has_the_defaults_of_a_run(run, folder, monkeypatch):
    # Its ``checked_with`` took their place, of which train says nothing.
    stub = importlib.import_module("dpcore_stub")
    monkeypatch.setattr(stub, "Stub", leaks_in_some_runs(stub, usual=3))
    found = run("check", "stub", "--like", "schema.toml")
    assert found.exit_code == 1 and "release 2 of the run" in found.stdout, found.output
    assert run("check", "stub", "--like", "schema.toml", "--set", "counts=2").exit_code == 0


def test_train_names_no_command_where_all_is_from_dpcore(run, folder):
    told = run("train", "--algo", "dp-gd", "--data", "rows.csv", "--schema", "schema.toml").stdout
    assert "Privacy: " in told and "To check" not in told


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("zcdp", "--like", "schema.toml"), "A part of the kind accountant meets no sizes"),
        (("logistic", "--like", "none.toml"), "none.toml"),
        (("nonprivate", "--like", "schema.toml"), "is given exact answers"),
        (("a-ddp", "--like", "schema.toml"), "asks users"),
    ],
)
def test_what_no_run_is_like_is_refused(run, folder, arguments, reason):
    result = run("check", *arguments)
    assert result.exit_code == 2 and reason in result.stderr, result.output
