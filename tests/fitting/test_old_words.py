"""Keywords of ``fit`` that earlier versions had: they mean the same, and show their new form."""

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpcore
from dpcore import (
    Algorithm,
    BalancedWeights,
    Budget,
    Evaluation,
    Intervals,
    Ledger,
    OneVsRest,
    PrivateBounds,
    Rows,
    Threads,
    Unit,
    Users,
    fit,
)
from dpcore.errors import InvalidInputError
from dpcore.fitting.request.old_words import with_old_words

OLD_WORDS = tomllib.loads(Path(dpcore.__file__).with_name("moved.toml").read_text())["words"]
X = np.array([[0.0, 0.5], [0.5, 0.0]] * 50)
Y = np.array([0, 1] * 50)
USUAL = {
    "algo": "auto",
    "epsilon": None,
    "ledger": None,
    "n0": None,
    "engine": "local",
    "unit": None,
    "users": None,
    "sample_weight": None,
    "loss": None,
    "class_weight": None,
    "also": (),
}
EACH = [
    ({"use": {"a": "b"}}, "algo", Algorithm("auto", {"a": "b"})),
    ({"preset": "paper"}, "algo", Algorithm("auto", preset="paper")),
    ({"as_published": True, "algo": "dp-agd"}, "algo", Algorithm("dp-agd", as_published=True)),
    ({"rho": 0.3}, "epsilon", Budget(rho=0.3)),
    ({"mu": 0.3, "epsilon": 1.0}, "epsilon", Budget(1.0, mu=0.3)),
    ({"epsilon_max": 3.0, "targets": {"target_risk": 1.0}}, "epsilon", None),
    ({"conversion": "tight"}, "epsilon", Budget(conversion="tight")),
    ({"analyst": "ana", "ledger": "l.db"}, "ledger", Ledger("l.db", "ana")),
    ({"same_table": True}, "ledger", Ledger(same_table=True)),
    ({"part": "a=b"}, "ledger", Ledger(part="a=b")),
    ({"capacity": 9, "n0": 8}, "n0", Rows(8, 9)),
    ({"threads": 1}, "engine", Threads(1)),
    ({"rows_per_unit": 3, "unit": "id"}, "unit", Unit("id", 3)),
    ({"trust": "local", "users": "u.csv"}, "users", Users("u.csv", "local")),
    ({"multiclass": "ovr"}, "loss", OneVsRest()),
    ({"private_bounds": True}, "also", (PrivateBounds(),)),
    ({"class_weight": "balanced", "largest_weight": 3.0}, "also", (BalancedWeights(3.0),)),
    ({"evaluate_share": 0.1, "test_fraction": 0.2}, "also", (Evaluation(0.1, None, 0.2),)),
    ({"evaluate_epsilon": 0.1, "test_fraction": 0.2}, "also", (Evaluation(None, 0.1, 0.2),)),
    ({"intervals_share": 0.3}, "also", (Intervals(0.3),)),
]


@pytest.mark.parametrize(("given", "word", "value"), EACH)
def test_an_earlier_word_is_the_new_one(given, word, value):
    words = {name: given[name] for name in given if name in USUAL}
    old = {name: given[name] for name in given if name not in USUAL}
    with pytest.warns(FutureWarning, match=rf"fit\(X, y, {word}=") as told:
        found = with_old_words({**USUAL, **words}, old)
    if value is not None:
        assert found[word] == value
        shown = str(told[0].message)
        names = {
            name: globals()[name] for name in globals() if f"{name}(" in shown and name[0].isupper()
        }
        form = shown.partition(f"{word}=")[2].removesuffix(").")
        again = eval(form, {"__builtins__": {}}, names)  # What it shows can be written so.
        assert (tuple(again) if word == "also" else again) == value


def test_every_earlier_word_was_tried():
    tried = {name for given, _, _ in EACH for name in given}
    assert {*OLD_WORDS} - tried == {"weight_bound"}


def test_of_weights_of_rows_none_is_shown():
    with pytest.warns(FutureWarning, match=r"Weights\(values=\.\.\., bound=2.0\)"):
        found = with_old_words({**USUAL, "sample_weight": [7.125]}, {"weight_bound": 2.0})
    assert found["sample_weight"].bound == 2.0


def test_new_words_warn_of_nothing_and_give_the_same_bits():
    public = {"classes": (0, 1), "bounds": (0, 1), "algo": "dp-gd", "seed": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        new = fit(X, Y, **public, epsilon=Budget(mu=2.0), engine=Threads(1))
    with pytest.warns(FutureWarning) as told:
        old = fit(X, Y, **public, mu=2.0, threads=1)
    assert np.array_equal(new.w, old.w)
    assert {warning.filename for warning in told} == {__file__}


def test_words_that_no_version_has_or_that_are_said_twice_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilom'. Did you mean eps"):
        fit(X, Y, epsilom=1.0)
    with pytest.raises(InvalidInputError, match="Expected mu in Budget alone, and not beside it"):
        fit(X, Y, epsilon=Budget(rho=1.0), mu=2.0)
    with pytest.raises(InvalidInputError, match="largest_weight=3.0 beside class_weight='balanc"):
        fit(X, Y, largest_weight=3.0)
    with pytest.raises(InvalidInputError, match="multiclass='all' to be ovr"):
        fit(X, Y, multiclass="all")
    steps = [Evaluation(0.1, test_fraction=0.2), Evaluation(0.1, test_fraction=0.3)]
    with pytest.raises(InvalidInputError, match="one test_fraction of all steps"):
        fit(X, Y, also=steps)
