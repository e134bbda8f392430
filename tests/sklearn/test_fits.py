"""The second fit in a process warns once, with the count and the sum of the budgets."""

import warnings

import numpy as np
import pytest

from dpcore.errors import DpcoreWarning
from dpcore.sklearn import PrivateLinearSVC, base
from dpcore.sklearn.fits import Fits

X, Y = np.tile([[0.25], [0.75]], (50, 1)), np.tile([0, 1], 50)


@pytest.fixture(autouse=True)
def fits(monkeypatch):
    monkeypatch.setattr(base, "FITS", Fits())


def told(*estimators):
    """Return what the fits warned of, with the file that it was laid to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for estimator in estimators:
            estimator.fit(X, Y)
    found = [
        w for w in caught if issubclass(w.category, DpcoreWarning) and "fits in" in str(w.message)
    ]
    return [(str(w.message), w.filename) for w in found]


def svc(**parameters):
    return PrivateLinearSVC(bounds=(0, 1), **parameters)


def test_the_second_fit_warns_once_with_the_sum():
    first, second = svc(epsilon=0.1), svc(epsilon=0.2, delta=3e-8)
    assert told(first) == []
    ((message, file),) = told(second, first, second)
    # The sum of the two floats, rounded up.
    assert message.startswith(
        "2 fits in this process: together they spent epsilon = 0.30000000000000004 and delta = "
    )
    assert "under add-or-remove-one." in message
    assert file == __file__


def test_a_refused_fit_does_not_count():
    with pytest.raises(ValueError, match="must be|Expected"):
        svc(epsilon=-1).fit(X, Y)
    assert told(svc()) == []


@pytest.mark.parametrize("place", ["run.make_model", "api.finish"])
def test_a_fit_that_broke_after_a_charge_counts_in_full(place, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"dpcore.fitting.{place}", broken)
        with pytest.raises(KeyboardInterrupt):
            svc(epsilon=0.25, delta=2**-20).fit(X, Y)
    ((message, _),) = told(svc(epsilon=0.5, delta=2**-20), svc())
    assert message.startswith(
        "2 fits in this process (1 broke off, and counts in full): together they spent "
        "epsilon = 0.75 and delta = 1.9073486328125e-06 under add-or-remove-one."
    )


def test_a_fit_that_broke_before_a_charge_does_not(monkeypatch):
    def broken(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpcore.fitting.run.run_optimizer", broken)
        with pytest.raises(KeyboardInterrupt):
            svc().fit(X, Y)
    assert told(svc()) == []


def test_fits_that_are_not_private_have_no_sum():
    ((message, _),) = told(svc(random_state=1), svc())
    assert "epsilon = 1 " in message and "1 of them is not private at all" in message


def test_two_that_are_not_private_say_so():
    ((message, _),) = told(svc(random_state=1), svc(random_state=1))
    assert "2 fits in this process: none of them is private." in message


def test_relations_are_named():
    ((message, _),) = told(svc(relation="replace-one"), svc())
    assert "under add-or-remove-one and replace-one" in message
