"""Every registered optimizer takes the losses or refuses them by name, before any charge."""

import numpy as np
import pytest

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.parts import load_registry, optimizer_facts

REGISTRY = load_registry()
ALGORITHMS = [entry.name for entry in REGISTRY.entries("optimizer")]
LOSSES = ("poisson", "gamma", "negative-binomial")
_i = np.arange(240)
X = np.column_stack([(_i * 37 % 101) / 100.0, (_i * 53 % 97) / 96.0])
Y = np.floor(2 * np.exp(X[:, 0]) * (_i * 71 % 199) / 198.0)
PUBLIC = {"bounds": (0, 1), "target_bounds": (0, 12), "n0": 240, "seed": 1}
NEEDS = {
    # What a loss without bounds is not, by the words that algorithms declare.
    "poisson": {"classification", "lipschitz-loss", "smooth-loss", "squared-loss"},
    "gamma": {"classification", "lipschitz-loss", "smooth-loss", "squared-loss"},
    "negative-binomial": {"classification", "squared-loss"},
}
BY_CODE = {"nsgd", "outpert-gd", "psgd", "rsgd-ar"}
"""Those that ask for bounds in their own code; and those of a target, for a ball."""


def fitted(algo, loss):
    """Return the model of a fit by an algorithm, under the first relation that it is for."""
    facts = optimizer_facts(REGISTRY.load("optimizer", algo))
    words = {"relation": facts.relations[0], "epsilon": 5.0, "delta": 1e-6}
    if algo.startswith(("cov-", "output-")):
        words = {"epsilon_max": 5.0, "targets": {"target_excess_risk": 0.5}}
    if not facts.private:
        words["accountant"] = "none"
    return dpcore.fit(X, Y, algo=algo, loss=loss, **words, **PUBLIC)


def takes(algo, loss):
    """Return whether an algorithm takes a loss: by its declared needs, and by the bounds that the
    loss states."""
    bounded = np.isfinite(Settings(loss=loss).make_loss().lipschitz)
    needs = set(optimizer_facts(REGISTRY.load("optimizer", algo)).needs)
    return (
        not needs & NEEDS[loss]
        and not algo.startswith("output-")
        and (bounded or algo not in BY_CODE)
    )


# Of the two whose needs are alike each algorithm has one.
@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("algo", "loss"),
    [(algo, loss) for i, algo in enumerate(ALGORITHMS) for loss in (LOSSES[i % 2], LOSSES[2])],
)
def test_an_optimizer_takes_a_loss_or_refuses_it_by_name(algo, loss):
    if takes(algo, loss):
        model = fitted(algo, loss)
        means = model.predict(X)
        assert np.isfinite(model.w).all() and (means >= 0).all() and (means <= 12).all()
        assert np.abs(model.w).max() > 0
        return
    with pytest.raises(InvalidInputError, match=f"{loss}|squared loss|majority needs") as refused:
        fitted(algo, loss)
    notes = getattr(refused.value, "__notes__", [])
    assert all(note.startswith("Nothing was charged") for note in notes)


def test_those_that_clip_take_a_loss_without_bounds():
    taken = {algo for algo in ALGORITHMS if takes(algo, "poisson")}
    assert {"auto", "dp-gd", "dp-agd", "sgd-ma", "sgd-adv", "privgene", "a-ddp"} <= taken
    assert not taken & {"objpert", "outpert", "bolt-on", "adassp", "gram-ridge", "majority"}
