"""All pairs of an optimizer and a part: what is refused says why, or what to do, and that works."""

import contextlib
import re
from functools import lru_cache

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import DpcoreError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import load_registry, optimizer_facts

THEOREM = r"\b(Theorem|Lemma|Proposition|proof)\b"
"""Words of a refusal that gives its reason as a theorem."""
REMEDY = (
    r"(--(accountant|use|loss|set|relation|algo|engine)\b|such as|It takes|its own is|"
    r"(?<!that is )\b[a-z-]+ can\b|holds Gaussian ones|every release|Raise epsilon)"
)
"""Words of a refusal that says what to do."""
FEW = {
    "a-ddp": {"rounds": 2, "most_rounds": 2, "rows_per_user": 20},
    "sgd-adv": {"steps": 2},
    "sgd-adv-local": {"rounds": 2, "rows_per_user": 20},
    "sgd-ma": {"steps": 2},
    "sgd-maj": {"rounds": 2, "rows_per_user": 20},
    "sgd-pass": {"rounds": 2, "rows_per_user": 20},
    "sgd-users": {"rounds": 2, "rows_per_user": 20},
    "privgene": {"generations": 2, "candidates": 4},
    "outpert-gd": {"epochs": 2},
}
"""Parameters with which a run is short."""


def optimizers():
    """Return the names of the algorithms and what each states; targets of accuracy come out of
    another budget, and are walked by their own tests."""
    registry = load_registry()
    named = {name: registry.load("optimizer", name) for name in registry.names("optimizer")}
    stated = {name: optimizer_facts(factory) for name, factory in named.items()}
    return {name: facts for name, facts in stated.items() if not facts.targets}


def says_why(text):
    return bool(re.search(THEOREM, text) or re.search(REMEDY, text))


def test_a_refusal_without_reason_is_found():
    assert not says_why("The slot noise of a-b cannot hold 'skellam'.")
    assert not says_why("The budget is too small for these rounds.")
    assert not says_why("The pld accountant cannot bound it; no accountant that is installed can.")
    assert says_why("The pure accountant cannot bound it; zcdp, gdp, rdp can.")


def test_every_mechanism_fills_a_slot_or_is_refused_with_a_reason():
    registry, pairs, refused = load_registry(), 0, []
    for name, facts in optimizers().items():
        for slot in facts.slots:
            for filling in registry.names("mechanism"):
                pairs += 1
                try:
                    make_plan(Settings(algo=name, use={slot: filling}))
                except DpcoreError as error:
                    refused.append((name, filling, str(error)))
    assert pairs > 80 and len(refused) > 40
    assert [each for each in refused if not says_why(each[2])] == []
    skellam = {
        text for _, filling, text in refused if filling == "skellam" and "closed" not in text
    }
    for name in ("a-ddp", "sgd-maj", "output-theory"):
        with pytest.raises(DpcoreError, match=f"none: dpcore info {name} shows its theorem"):
            make_plan(Settings(algo=name, use={"noise": "laplace"}))
    sampled = {text for name, filling, text in refused if (name, filling) == ("sgd-ma", "gamma")}
    assert all("no accountant that is installed bounds Poisson samples" in text for text in sampled)
    assert skellam and sampled and all(re.search("Theorem 3.5|scaled to", text) for text in skellam)
    assert not [name for name, filling, _ in refused if (name, filling) == ("outpert", "laplace")]


@pytest.mark.slow
def test_a_mechanism_that_fits_a_slot_runs_or_is_refused_with_a_reason():
    found = {}
    for name, facts in optimizers().items():
        for slot in facts.slots:
            for filling in load_registry().names("mechanism"):
                asked = Settings(algo=name, use={slot: filling})
                with contextlib.suppress(DpcoreError):
                    make_plan(asked)
                    found[name, filling] = fitted(name, facts, use={slot: filling})
    assert sum(not text for text in found.values()) > 25
    assert {pair: text for pair, text in found.items() if text and not says_why(text)} == {}


def test_every_relation_holds_an_algorithm_or_is_refused_with_a_reason():
    X, y, refused = np.zeros((4, 2)), np.array([0, 1, 0, 1]), {}
    for name, facts in optimizers().items():
        for relation in {each.value for each in NeighboringRelation} - {*facts.relations}:
            loss = "ridge" if name in SQUARED else "logistic"
            told = {"target_bounds": (0.0, 1.0)} if loss == "ridge" else {"classes": (0, 1)}
            with pytest.raises(DpcoreError) as refusal:
                fit(X, y, algo=name, loss=loss, relation=relation, row_norm=1.0, **told)
            refused[name, relation] = str(refusal.value)
    assert len(refused) > 30
    assert {pair: text for pair, text in refused.items() if not says_why(text)} == {}
    kept = {text for (_, relation), text in refused.items() if relation != "replace-special"}
    why = re.compile("theorem|Proposition|proof")
    assert kept and [text for text in kept if not why.search(text)] == []
    gradient_descent = refused["outpert-gd", "add-or-remove-one"]
    assert re.search("Proposition 2 .* n0 rows is no contraction.* capacity", gradient_descent)
    special = refused["outpert-gd", "replace-special"]
    assert re.search("under: replace-one .* counts for nothing, as under replace-special", special)


def fitted(name, facts, **asked):
    """Return what became of a fit of a few rows: "" for a model, else the refusal."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, size=(60, 2)), np.resize([0, 1], 60)
    loss, target = ("ridge", y - 0.5) if name in SQUARED else ("logistic", y)
    told = {"classes": (0, 1)} if loss == "logistic" else {"target_bounds": (-1.0, 1.0)}
    if "pure" in (facts.accountant, asked.get("accountant")):
        told["delta"] = 0.0
    told |= {"loss": loss, "row_norm": 1.5, "params": FEW.get(name, {})}
    try:
        fit(X, target, algo=name, epsilon=20.0, seed=1, **told, **asked)
    except DpcoreError as error:
        return str(error)
    return ""


@lru_cache(maxsize=1)
def walked():
    """Return what became of every algorithm under every accountant."""
    return {
        (name, accountant): fitted(name, facts, accountant=accountant)
        for name, facts in optimizers().items()
        for accountant in load_registry().names("accountant")
    }


SQUARED = ("adassp", "boosted-adassp", "gram-ridge")


@pytest.mark.slow
def test_every_accountant_holds_an_algorithm_or_is_refused_with_a_reason():
    found = walked()
    assert sum(not text for text in found.values()) > 60
    assert {pair: text for pair, text in found.items() if text and not says_why(text)} == {}


@pytest.mark.slow
def test_an_accountant_that_a_refusal_names_holds_the_algorithm():
    found, useless = walked(), []
    for (name, _), text in found.items():
        for other in re.findall(r"--accountant ([a-z-]+)", text):
            if found.get((name, other)):
                useless.append((name, other, text))
    assert useless == []


@pytest.mark.some_fast
@pytest.mark.parametrize("algo", ["rsgd-ar", "psgd"])
@pytest.mark.parametrize("accountant", ["zcdp", "gdp"])
def test_a_random_batch_is_charged_as_the_worst_where_there_is_no_rule_for_it(algo, accountant):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, size=(400, 2)), np.resize([0, 1], 400)
    asked = {"algo": algo, "row_norm": 1.5, "classes": (0, 1), "seed": 1, "delta": 1e-6}
    worst = fit(X, y, accountant=accountant, **asked)
    assert worst.details["charged"].startswith("the worst batch")
    (release,) = worst.privacy["ledger"] if "ledger" in worst.privacy else ({},)
    assert "Randomized" not in str(release)
    random = fit(X, y, **asked)
    assert "charged" not in random.details
    assert worst.details["sensitivity"] == pytest.approx(random.details["sensitivity"])
