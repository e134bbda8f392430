"""The second fit in a process warns once, with the count and the sum of the budgets."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from dpcore import fit
from dpcore.errors import DpcoreWarning
from dpcore.fitting.fits import Fits
from dpcore.fitting.rows import in_memory
from dpcore.session.charges import Bound

X, Y = np.tile([[0.25], [0.75]], (50, 1)), np.tile([0, 1], 50)


@pytest.fixture(autouse=True)
def fits(monkeypatch):
    monkeypatch.setattr(in_memory, "FITS", Fits())


def asked(**options):
    """Return a fit of a few releases that is yet to be made."""
    given = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None, "epsilon": 1.0}
    return lambda: fit(X, Y, algo="dp-gd", params={"steps": 2}, **{**given, **options})


def told(*fits):
    """Return what the fits warned of, with the file that it was laid to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for made in fits:
            made()
    found = [
        w for w in caught if issubclass(w.category, DpcoreWarning) and "fits in" in str(w.message)
    ]
    return [(str(w.message), w.filename) for w in found]


def test_the_second_fit_warns_once_with_the_sum():
    first, second = asked(epsilon=0.1), asked(epsilon=0.2, delta=3e-8)
    assert told(first) == []
    ((message, file),) = told(second, first, second)
    # The sum of the two floats, rounded up.
    assert message.startswith(
        "2 fits in this process: together they spent epsilon = 0.30000000000000004 and delta = "
    )
    assert "under add-or-remove-one of a row." in message
    assert file == __file__


def test_fits_of_estimators_are_among_them():
    from dpcore_sklearn import PrivateLinearSVC

    svc = PrivateLinearSVC(bounds=(0, 1), epsilon=0.25, delta=2**-20)
    assert told(asked(epsilon=0.5, delta=2**-20)) == []
    ((message, file),) = told(lambda: svc.fit(X, Y), lambda: svc.fit(X, Y))
    assert "2 fits in this process: together they spent epsilon = 0.75 and delta" in message
    assert file == __file__


def test_fits_of_a_comparison_are_not(monkeypatch, tmp_path):
    from dpcore_lab.compare.runner import run
    from dpcore_lab.compare.settings import Comparison

    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{j % 90},{j % 2}\n" for j in range(200))
    (tmp_path / "r.csv").write_text(f"age,y\n{rows}")
    (tmp_path / "s.toml").write_text(
        '[columns]\nage = { kind = "numeric", lower = 0, upper = 90 }\n'
        'y = { kind = "label", classes = [0, 1] }\n'
    )
    plan = Comparison(
        algorithms=("dp-gd",),
        data=("r.csv",),
        schema=tmp_path / "s.toml",
        epsilons=(1.0,),
        folds=2,
        params={"dp-gd": {"steps": "2"}},
    )
    assert told(lambda: run(plan, None, 1)) == []
    assert told(asked()) == []


def test_a_refused_fit_does_not_count():
    with pytest.raises(ValueError, match="must be|Expected"):
        asked(epsilon=-1)()
    assert told(asked()) == []


@pytest.mark.parametrize("place", ["run.make_model", "rows.in_memory.finish"])
def test_a_fit_that_broke_after_a_charge_counts_in_full(place, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"dpcore.fitting.{place}", broken)
        with pytest.raises(KeyboardInterrupt):
            asked(epsilon=0.25, delta=2**-20)()
    ((message, _),) = told(asked(epsilon=0.5, delta=2**-20), asked())
    assert message.startswith(
        "2 fits in this process (1 broke off, and counts in full): together they spent "
        "epsilon = 0.75 and delta = 1.9073486328125e-06 under add-or-remove-one of a row."
    )


def test_a_fit_that_broke_before_a_charge_does_not(monkeypatch):
    def broken(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpcore.fitting.run_sessions.run_optimizer", broken)
        with pytest.raises(KeyboardInterrupt):
            asked()()
    assert told(asked()) == []


def test_fits_that_are_not_private_have_no_sum():
    ((message, _),) = told(asked(seed=1), asked())
    assert "epsilon = 1 " in message and "1 of them is not private at all" in message


def test_two_that_are_not_private_say_so():
    ((message, _),) = told(asked(seed=1), asked(seed=1))
    assert "2 fits in this process: none of them is private." in message


def test_budgets_under_several_relations_have_no_common_sum():
    # Said was 3 "under add-or-remove-one and replace-one": it is 5 under replace-one, where a row
    # added and one removed are two steps, and nothing follows under the other.
    fits = Fits()
    for epsilon, relation, protected in (
        (1.0, "replace-one", "a row"),
        (2.0, "add-or-remove-one", "a row"),
        (4.0, "add-or-remove-one", "all rows of a value of 'id'"),
        (8.0, "add-or-remove-one", "a row"),
    ):
        fits._count_in(Bound(epsilon, 2**-20, relation, protected, True))
    assert fits._message().startswith(
        "4 fits in this process: together they spent epsilon = 10 and delta = 1.9073486328125e-06 "
        "under add-or-remove-one of a row, and epsilon = 4 and delta = 9.5367431640625e-07 under "
        "add-or-remove-one of all rows of a value of 'id', and epsilon = 1 and delta = "
        "9.5367431640625e-07 under replace-one of a row (guarantees of several kinds have no "
        "common sum)."
    )


def of_units():
    """Return a fit for units that is yet to be made."""
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 1}}
    columns["y"] = {"kind": "label", "classes": [0, 1]}
    frame = pa.table({"id": np.arange(100) // 3, "x": X[:, 0], "y": Y})
    given = {"schema": {"columns": columns}, "unit": "id", "rows_per_unit": 3}
    return lambda: fit(frame, algo="dp-gd", params={"steps": 2}, epsilon=1.0, **given)


@pytest.mark.parametrize("breaks", [False, True])
def test_a_fit_of_units_and_one_of_rows_have_sums_of_their_own(breaks, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    fits = [of_units(), asked(relation="replace-one", delta=2**-20)]
    if breaks:
        with monkeypatch.context() as patched:
            patched.setattr("dpcore.fitting.run.make_model", broken)
            with pytest.raises(KeyboardInterrupt):
                fits.pop(0)()
    ((message, _),) = told(*fits)
    assert "under add-or-remove-one of all rows of a value of 'id', and epsilon = 1 and" in message
    assert "delta = 9.5367431640625e-07 under replace-one of a row (" in message
