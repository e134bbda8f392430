"""What is compared is checked as a whole before the first fit."""

import re
from dataclasses import make_dataclass

import pytest

from dpcore.errors import DpcoreError
from dpcore_lab.compare.admission import admit, default_relation
from dpcore_lab.compare.settings import cells_of, loss_in_words


@pytest.fixture
def few(monkeypatch):
    """Three optimizers as all that are installed: a plan of each that is takes seconds."""
    names = ("auto", "dp-agd", "stub")
    monkeypatch.setattr("dpcore_lab.compare.admission._installed", lambda: names)


@pytest.mark.slow
def test_all_takes_third_parties_optimizers_that_fit(compared):
    settings, left_out = admit(compared(algorithms=("all",)))
    assert "stub" in settings.algorithms and "stub" not in left_out


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"relations": ("replace-one",)}, "no guarantee under add-or-remove-one"),
        ({"needs": ("strong-convexity",)}, "pass --l2 (l2=) greater than 0"),
        ({"relations": ()}, "has an empty relations: at least one relation is needed"),
        ({"private": False}, "stub declares that it is not private"),
        ({"targets": ("target_risk",)}, "and stub takes a target"),
    ],
)
def test_all_leaves_out_what_does_not_fit_and_says_why(compared, few, monkeypatch, declared, why):
    import dpcore_stub

    risk = [("target_risk", float, 0.1)]
    derived = make_dataclass("Stub", risk, bases=(dpcore_stub.Stub,), frozen=True, kw_only=True)
    for name, value in declared.items():
        setattr(derived, name, value)
    monkeypatch.setattr(dpcore_stub, "Stub", derived)
    settings, left_out = admit(compared(algorithms=("all",)))
    assert "stub" not in settings.algorithms and why in left_out["stub"]
    with pytest.raises(DpcoreError, match=re.escape(why)):
        admit(compared())


@pytest.mark.parametrize(
    ("declared", "relation"),
    [
        (("add-or-remove-one", "replace-one"), "add-or-remove-one"),
        (("replace-one",), "replace-one"),
    ],
)
def test_the_usual_relation_is_one_that_all_have(compared, monkeypatch, declared, relation):
    import dpcore_stub

    monkeypatch.setattr(dpcore_stub.Stub, "relations", declared)
    assert default_relation(("dp-agd:paper", "stub", "nonprivate")) == relation
    assert default_relation(("all",)) == default_relation(()) == "add-or-remove-one"


def test_no_relation_is_common(compared, monkeypatch):
    import dpcore_stub

    monkeypatch.setattr(dpcore_stub.Stub, "relations", ("replace-special",))
    assert default_relation(("stub",)) == "replace-special"
    with pytest.raises(DpcoreError, match=r"^No relation is common to all: .*; stub replace-sp"):
        default_relation(("dp-agd", "stub"))


def test_a_misfit_names_what_would_fit(compared, few, monkeypatch):
    import dpcore_stub

    monkeypatch.setattr(dpcore_stub.Stub, "relations", ("replace-one",))
    with pytest.raises(DpcoreError, match=r"^stub does not fit: .*Algorithms that do: .*dp-agd"):
        admit(compared())


def test_a_regression_has_no_majority(compared, folder):
    schema = (folder / "schema.toml").read_text()
    real = schema.replace('classes = ["no", "yes"]', "lower = 0, upper = 1")
    (folder / "schema.toml").write_text(real)
    (folder / "rows.csv").write_text("age,label\n" + "10,0.5\n" * 6)
    asked = compared(data=("rows.csv",), schema="schema.toml", loss="ridge")
    assert admit(asked)[0].references == ("nonprivate",)


def test_references_alone_are_a_comparison(compared, folder):
    settings, left_out = admit(compared(algorithms=("nonprivate", "majority")))
    assert (settings.algorithms, settings.references) == ((), ("majority", "nonprivate"))
    assert left_out == {}
    only = admit(compared(algorithms=("nonprivate",)))[0]
    assert (only.algorithms, only.references) == ((), ("nonprivate",))
    assert len(list(cells_of(only))) == only.folds


def test_a_reference_that_is_named_beside_an_algorithm_is_fitted_once(compared):
    named = admit(compared(algorithms=("stub", "nonprivate")))[0]
    assert named == admit(compared())[0]
    assert named.algorithms == ("stub",) and named.references == ("majority", "nonprivate")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"loss": "ridge"}, "majority is of classes"),
        ({"loss": "ridge", "algorithms": ("nonprivate",)}, "does not fit a label with two classes"),
        ({"loss": "logistics"}, "Did you mean logistic"),
        ({"data": ("stub-row",)}, "Did you mean stub-rows"),
        ({"folds": 5}, "Expected folds=5 <= 4, the rows of stub-rows"),
        ({"l2": -1.0}, "l2=-1.0 >= 0"),
        ({"seed": -1}, "seed"),
        ({"relation": "replace"}, "replace-one"),
        ({"params": {"nonprivate": {"steps": "3"}}}, "--set names 'nonprivate'"),
        ({"algorithms": ("majority", "majority")}, "twice among the algorithms"),
    ],
)
def test_references_alone_are_checked_as_all_else(compared, changes, text):
    with pytest.raises(DpcoreError, match=text):
        admit(compared(**{"algorithms": ("majority", "nonprivate"), **changes}))


REFUSED = [
    ({"algorithms": ("stubb",)}, "Did you mean stub"),
    ({"algorithms": ("stub:papers",)}, "Did you mean paper"),
    ({"algorithms": ("stub", "stub")}, "'stub' is twice among the algorithms"),
    ({"algorithms": ()}, "at least one of algorithms"),
    ({"data": ("stub-row",)}, "neither a file nor a data set. Did you mean stub-rows"),
    ({"data": ("none.csv",)}, "no such file"),
    ({"data": ("rows.csv",)}, "needs a schema"),
    ({"data": ("stub-rows", "stub-rows")}, "twice among the data"),
    ({"schema": "schema.toml"}, "data sets have their own"),
    ({"epsilons": (0.5, 0.0)}, "epsilon=0.0 > 0"),
    ({"epsilons": (float("nan"),)}, "finite"),
    ({"epsilons": ()}, "at least one of epsilons"),
    ({"delta": 1.0}, "delta=1.0 < 1"),
    ({"delta": 0.0}, "delta"),
    ({"folds": 1}, "Expected folds=1 from 2 to 1000"),
    ({"folds": 1001}, "Expected folds=1001 from 2 to 1000"),
    ({"folds": 5}, "Expected folds=5 <= 4, the rows of stub-rows"),
    ({"repeats": 0}, "Expected repeats=0 from 1 to 1000"),
    ({"loss": "logistics"}, "Did you mean logistic"),
    ({"loss": "ridge"}, "does not fit a label with two classes"),
    ({"l2": -1.0}, "l2=-1.0 >= 0"),
    ({"l2": float("nan")}, "l2"),
    ({"relation": "replace"}, "replace-one"),
    ({"seed": -1}, "seed"),
    ({"params": {"stub": {"count": "3"}}}, "Did you mean counts"),
    ({"params": {"other": {"counts": "3"}}}, "'other', which is not among the algorithms"),
]


@pytest.mark.some_fast
@pytest.mark.parametrize(("changes", "text"), REFUSED)
def test_refused_before_any_fit(compared, few, folder, changes, text):
    with pytest.raises(DpcoreError, match=text):
        admit(compared(**changes))
    # Among all, one that is chosen by the budget takes delta = 0 too.
    if changes.get("algorithms") is None and changes != {"delta": 0.0}:
        with pytest.raises(DpcoreError):
            admit(compared(**{**changes, "algorithms": ("all",)}))


def test_an_algorithm_whose_parameters_are_set_counts_as_named(compared, few):
    with pytest.raises(DpcoreError, match=r"^Expected counts='x' to be a whole number"):
        admit(compared(algorithms=("all",), params={"stub": {"counts": "x"}}))
    with pytest.raises(DpcoreError, match=r"--set names 'stubb'\. Did you mean stub"):
        admit(compared(algorithms=("all",), params={"stubb": {"counts": "3"}}))


@pytest.mark.parametrize("labels", [("all", "stub"), ("stub", "all", "nonprivate")])
def test_all_stands_alone(compared, labels):
    for refuse in (default_relation, lambda labels: admit(compared(algorithms=labels))):
        with pytest.raises(DpcoreError, match="'all', which means every .* by itself"):
            refuse(labels)


def test_pure_comparisons_name_what_fits(compared):
    pattern = "own accountant is pure, and auto, which chooses for it: (?!.*stub).*auto"
    with pytest.raises(DpcoreError, match=pattern):
        admit(compared(delta=0.0))


def test_a_name_that_no_table_can_hold_is_refused_first(compared):
    with pytest.raises(DpcoreError, match=r"'r\\udcff\.csv' is not UTF-8.*rename the file"):
        admit(compared(data=("r\udcff.csv",), schema="schema.toml"))


def test_the_loss_in_words():
    plain = {"loss": "logistic", "params": {"stub": {"counts": "3"}}}
    assert loss_in_words(plain) == loss_in_words({"loss": "logistic"}) == "logistic"
    quantile = {"loss": "quantile", "params": {"loss": {"tau": ".9"}}}
    assert loss_in_words(quantile) == "quantile (tau=.9)"
