"""The plan of a fit: made once, and an error about an algorithm that nobody named says whence."""

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore_accounting.best import BestAccountant


def test_the_accountant_is_chosen_once(monkeypatch):
    # A fit chose it twice, and threw the first choice away: 0.1 of 0.3 s.
    chosen, planned = [], BestAccountant.planned.__func__

    def noted(cls, *asked):
        chosen.append(planned(cls, *asked))
        return chosen[-1]

    monkeypatch.setattr(BestAccountant, "planned", classmethod(noted))
    X = np.random.default_rng(0).random((200, 2))
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    model = fit(X, y, algo="sgd-ma", accountant="best", n0=200, params={"steps": 10})
    assert [filter.name for filter in chosen] == [model.privacy["accountant"]]


@pytest.mark.parametrize("asked", [{"params": {"clpi": 1}}, {"trust": "local"}, {"preset": "no"}])
def test_an_error_about_a_chosen_algorithm_says_who_chose_it(asked):
    with pytest.raises(InvalidInputError) as caught:
        make_plan(Settings(epsilon=1.0, **asked))
    assert [note.startswith("(auto chose ") for note in caught.value.__notes__] == [True]
    with pytest.raises(InvalidInputError) as caught:
        make_plan(Settings(algo="dp-gd", epsilon=1.0, **asked))
    assert not hasattr(caught.value, "__notes__")


def test_an_error_about_the_budget_is_nobodys():
    with pytest.raises(InvalidInputError, match="Expected epsilon=-1.0 > 0") as caught:
        make_plan(Settings(epsilon=-1.0))
    assert not hasattr(caught.value, "__notes__")
