"""Rows and searches of the tests."""

from fractions import Fraction

import numpy as np

from dpcore.plugin import Settings
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_tuning.search import make_search
from dpcore_tuning.stopping_distributions import TruncatedNegativeBinomial

X = np.random.default_rng(3).uniform(0, 1, (400, 3))
Y = np.where(X[:, 0] > X[:, 1], 1, -1)
PURE = {"accountant": "pure", "algo": "outpert", "use": {"noise": "gamma"}}
L2 = [{"l2": 0.001}, {"l2": 10.0}]


def rows(n=400):
    return dataset_from_arrays(X[:n], Y[:n], bounds=(0, 1), row_norm=None)


def searched(candidates=L2, settings=None, **asked):
    settings = {"algo": "dp-gd", "epsilon": 2.0, "delta": 1e-6, **(settings or {})}
    if settings["algo"] == "dp-gd":  # The default's 50 to 400 steps are no other fits to a search.
        settings.setdefault("params", {"steps": 8})
    return make_search(Settings(**settings), candidates, **{"tries": 2.0, **asked})


class Counted(TruncatedNegativeBinomial):
    """A distribution of so many tries, priced as one that is not fixed."""

    def draw(self, noise):
        return self.count


def with_tries(search, count):
    distribution = Counted(Fraction(1), Fraction(1, 2))
    object.__setattr__(distribution, "count", count)
    object.__setattr__(search, "distribution", distribution)
    return search
