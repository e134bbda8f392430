"""Checks that are run one by one, each with its outcome."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
from honest import Honest
from leaks import queries, stashes

from dpcore.errors import InvalidInputError
from dpcore_lab.checks import OPTIMIZER_CHECKS, run_checks
from dpcore_lab.checks.run import outcomes_of


def test_run_checks_reports_each_check_with_its_reason():
    outcomes = run_checks(stashes.TellsInLongArray(steps=6))
    assert [outcome.check for outcome in outcomes] == [check.__name__ for check in OPTIMIZER_CHECKS]
    failed = {outcome.check: outcome.reason for outcome in outcomes if not outcome.passed}
    assert "status or details" in failed["check_outputs_released"]
    told = {outcome.check: outcome.tested.what for outcome in outcomes}
    assert all(bool(what) != (check in failed) for check, what in told.items())


def test_run_checks_names_the_parts_that_are_not_dpcores_own():
    last = run_checks(queries.AsksEigenvalue(share=1.0, steps=4))[-1]
    assert (last.check, last.passed) == ("foreign_parts", True)
    assert last.tested.what.endswith(f"{queries.Eigenvalue.__module__}:Eigenvalue")


def test_an_optimizer_that_states_too_little_is_refused_in_a_sentence():
    class Silent:
        def minimize(self, problem, session):
            raise NotImplementedError

    with pytest.raises(InvalidInputError, match=r"Silent is not a dataclass of its parameters\."):
        run_checks(Silent())
    with pytest.raises(InvalidInputError, match=r"Silent has no 'relations', which .* asks for\."):
        run_checks(dataclass(frozen=True)(Silent)())


@dataclass(frozen=True, kw_only=True)
class OfTheHinge(Honest):
    """Refuses every loss but one, as an algorithm with a gradient of its own does."""

    def minimize(self, problem, session):
        if problem.loss.name != "hinge-svm":
            raise InvalidInputError("This is for the hinge.")
        return super().minimize(problem, session)


@dataclass(frozen=True, kw_only=True)
class ChecksByTheHinge(OfTheHinge):
    checked_loss: ClassVar[str] = "hinge-svm"


def test_an_optimizer_of_one_loss_states_which_it_is_checked_with():
    # Every check of it failed, and nothing said what to do.
    refused = next(outcomes_of(OfTheHinge(steps=4)))
    assert not refused.passed
    assert refused.reason.endswith(
        "This is for the hinge. If it takes another loss alone, state its name as checked_loss."
    )
    ran = next(outcomes_of(ChecksByTheHinge(steps=4)))
    assert ran.passed and "runs of" in ran.tested.what


def test_what_a_stated_loss_does_not_mend_has_no_such_advice():
    class Refuses(ChecksByTheHinge):
        def minimize(self, problem, session):
            raise InvalidInputError("No.")

    assert next(outcomes_of(Refuses())).reason.endswith("No.")
