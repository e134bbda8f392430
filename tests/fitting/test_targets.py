"""Algorithms that are asked for an accuracy: options, budget, and the two epsilons kept apart."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.request.targets import budget_of, target_values
from dpcore.plugin import Solution
from dpcore.plugin.parts import PrivacyStatement, optimizer_facts
from dpcore.plugin.steps import StepOption


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Takes a target and nothing else."""

    target_excess_risk: float = 0.1

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("replace-one",)
    needs: ClassVar[tuple] = ()
    targets: ClassVar[tuple] = ("target_excess_risk",)

    def minimize(self, problem, session):
        return Solution(np.zeros(problem.n_features), "Nothing was done.")


class Plain(Asked):
    targets = ()


class Broken:
    """A registry in which one of two algorithms takes a target."""

    def names(self, kind):
        return ["asked", "plain"]

    def entries(self, kind):
        options = [StepOption("target-excess-risk", "float"), StepOption("slack", "float")]
        return [SimpleNamespace(data={"options": options})]

    def load(self, kind, name):
        return Asked if name == "asked" else Plain


REGISTRY = Broken()


def test_the_worst_case_is_the_budget_where_epsilon_is_an_output():
    assert budget_of(Settings(epsilon_max=3.0), Asked, REGISTRY) == (3.0, 0.0, "pure")
    assert budget_of(Settings(), Asked, REGISTRY) == (5.0, 0.0, "pure")
    assert budget_of(Settings(), Plain, REGISTRY) == (1.0, 1e-8, "zcdp")
    assert budget_of(Settings(epsilon=0.5, delta=1e-6), Plain, REGISTRY) == (0.5, 1e-6, "zcdp")
    assert optimizer_facts(Asked).targets and not optimizer_facts(Plain()).targets


@pytest.mark.parametrize(
    ("settings", "factory", "message"),
    [
        (Settings(algo="asked", epsilon=1.0), Asked, "asked takes a target.*--epsilon-max"),
        (
            Settings(algo="plain", epsilon_max=1.0),
            Plain,
            "takes --epsilon .*, not.*these do: asked",
        ),
        (Settings(algo="asked", accountant="zcdp"), Asked, "--accountant pure only"),
    ],
)
def test_the_wrong_one_of_the_two_is_refused_with_advice(settings, factory, message):
    with pytest.raises(InvalidInputError, match=message):
        budget_of(settings, factory, REGISTRY)


def test_options_go_to_the_algorithms_that_declare_them():
    settings = Settings(algo="asked", targets={"target_excess_risk": 0.2, "slack": None})
    assert target_values(settings, Asked, REGISTRY) == {"target_excess_risk": 0.2}
    for factory, option in ((Plain, "target_excess_risk"), (Asked, "slack")):
        settings = Settings(algo="this", targets={option: 0.1})
        with pytest.raises(InvalidInputError, match=f"takes no --{option.replace('_', '-')}"):
            target_values(settings, factory, REGISTRY)
    entry = SimpleNamespace(data={"options": [StepOption("slack", "float")]})
    empty = SimpleNamespace(names=lambda kind: [], load=None, entries=lambda kind: [entry])
    with pytest.raises(InvalidInputError, match="no installed algorithm does"):
        target_values(Settings(targets={"slack": 0.1}), Plain, empty)
    with pytest.raises(InvalidInputError, match="no target 'slick'; there are: slack, delta"):
        target_values(Settings(targets={"slick": 0.1}), Plain, empty)


STATEMENT = PrivacyStatement(
    epsilon=5.0,
    delta=0.0,
    relation="replace-one",
    accountant="pure",
    conversion="basic",
    unit="epsilon",
    budget=5.0,
    spent=5.0,
    releases={"noise-reduction": 1},
    ex_post_epsilon=0.123456789,
)


def test_the_statement_never_confuses_the_two_epsilons():
    sentence = STATEMENT.sentence()
    assert sentence.startswith("This model is (5, 0)-differentially private under replace-one")
    assert "worst case agreed to beforehand. Ex-post: the outcome that happened" in sentence
    assert "at most 0.123456789;" in sentence and "no guarantee of differential privacy" in sentence
    assert "0.123456789-diff" not in sentence and "(0.123456789" not in sentence
    data = STATEMENT.to_dict()
    assert (data["epsilon"], data["ex_post_epsilon"]) == (5.0, 0.123456789)


def test_a_statement_that_is_not_private_claims_no_ex_post_epsilon():
    sentence = replace(STATEMENT, why_not_private=("the noise came from a seed",)).sentence()
    assert "0.123456789" not in sentence and sentence.startswith("NOT PRIVATE")


def test_a_failure_is_stated_of_the_run_not_of_a_model():
    data = STATEMENT.to_dict("What came out")
    assert data["sentence"].startswith("What came out is (5, 0)-differentially private")


def test_without_an_ex_post_epsilon_nothing_is_said_of_one():
    assert "x-post" not in replace(STATEMENT, ex_post_epsilon=None).sentence()
