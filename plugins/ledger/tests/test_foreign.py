"""A ledger of somebody else's: charged before anything is drawn, and named in the statement."""

from typing import ClassVar

import pytest

import dpcore
from dpcore import Schema
from dpcore.data.schema import named_ledger
from dpcore.errors import BudgetExceededError, InvalidInputError, LedgerError, RegistryError
from dpcore.plugin.parts import Registration, Registry, load_registry
from dpcore_tables.statistics import open_session


class Place:
    """A run's place: all that it was told is in ``Kept.told``."""

    def __init__(self, number):
        self.reference = {"id": "theirs", "run": number}

    def charge(self, entry):
        if Kept.charges == 0:
            raise LedgerError("The disk is full.")
        Kept.charges -= 1
        Kept.told.append(("charge", entry.kind))

    def close(self, outcome, found):
        Kept.told.append(("close", outcome, found.parts))

    def standing(self):
        return "The ledger has the run, whole."


class Kept:
    """A ledger in memory, of two runs at most."""

    told: ClassVar[list] = []
    charges = -1  # how many are written before the disk is full

    def __init__(self, address, analyst="", same_table=False):
        self._analyst = analyst

    @classmethod
    def check_address(cls, address):
        if "secret" in address:
            raise InvalidInputError("Expected an address without a secret.")

    def reserve(self, run):
        if sum(told[0] == "reserve" for told in Kept.told) == 2:
            raise BudgetExceededError("Two runs are enough.")
        Kept.told.append(("reserve", run.name, run.accountant.epsilon, self._analyst))
        return Place(len(Kept.told))

    def by_release(self, run):
        Kept.told.append(("by release", run.name))
        return Place(len(Kept.told))

    def outside(self, why_not_private, run=None):
        Kept.told.append(("outside", why_not_private, run and run.name))

    def note_model(self, reference, out):
        Kept.told.append(("model", reference["run"], out.name))


NAME = f"{__name__}:Kept"


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    entry = Registration("ledger", "table", NAME, "In memory.", "", "somebody-elses", "1.0")
    registry = Registry([entry])
    monkeypatch.setattr(named_ledger, "load_registry", lambda kind=None: registry)
    monkeypatch.setattr(Kept, "told", [])
    return registry


def fit(**words):
    asked = {"classes": (0, 1), "epsilon": 1.0, "algo": "dp-gd", "params": {"steps": 2}}
    return dpcore.fit([[0.1], [0.9]] * 50, [0, 1] * 50, **asked, ledger="theirs", **words)


def test_it_is_asked_before_each_release_and_named():
    model = fit(analyst="ann")
    kinds = [told[0] for told in Kept.told]
    assert Kept.told[0] == ("reserve", "dp-gd", 1.0, "ann")
    assert kinds == ["reserve", *["charge"] * (len(kinds) - 2), "close"]
    assert kinds.count("charge") == sum(entry["count"] for entry in model.ledger)
    assert model.privacy["parts_not_from_dpcore"] == [NAME]
    assert f"which are not from dpcore, are right: {NAME}" in model.privacy["sentence"]
    assert model.privacy["ledger"] == {"id": "theirs", "run": 1, "keeper": NAME}


def test_a_run_that_it_refuses_makes_no_release():
    fit(), fit()
    before = [*Kept.told]
    with pytest.raises(BudgetExceededError, match="Two runs are enough"):
        fit()
    assert Kept.told == before


def test_what_it_cannot_write_is_not_drawn(monkeypatch):
    monkeypatch.setattr(Kept, "charges", 1)
    released = []
    with pytest.raises(LedgerError, match="The disk is full") as failed:
        with open_session(
            [[0.1], [0.9]] * 50, [0, 1] * 50, classes=(0, 1), epsilon=1.0, ledger="theirs"
        ) as session:
            released.append(session.count(share=0.2))
            released.append(session.count(share=0.2))
    assert len(released) == 1 and len(session._session.ledger) == 1
    assert failed.value.__notes__[-1].startswith("Charged, and spent: ")
    assert Kept.told[-1][:2] == ("close", "closed")


def test_a_run_without_a_guarantee_is_outside_and_charged_nothing():
    assert not fit(seed=3).privacy["private"]
    assert Kept.told == [("outside", ("the noise came from a seed",), "dp-gd")]


def test_a_schema_shows_no_address_that_it_refuses():
    keys = {"columns": {"y": {"kind": "label", "classes": [0, 1]}}, "width": 2}
    with pytest.raises(InvalidInputError, match="without a secret"):
        Schema.from_dict({**keys, "ledger": "theirs://secret@host"})


def test_two_of_them_are_an_error_that_names_both():
    ours = load_registry("ledger").get("ledger", "table")
    theirs = named_ledger.load_registry().get("ledger", "table")
    with pytest.raises(RegistryError, match="dpcore-ledger .* and somebody-elses 1.0"):
        Registry([ours, theirs]).load("ledger", "table")


@pytest.mark.parametrize("by_release", [False, True])
def test_a_ledger_that_gives_no_place_is_refused_before_the_rows_are_asked(monkeypatch, by_release):
    # A forgotten return was no ledger at all: nothing was charged, and nobody named.
    monkeypatch.setattr(Kept, "by_release" if by_release else "reserve", lambda self, run: None)
    with pytest.raises(LedgerError, match=f"{NAME} gave no place .*: the run has not begun"):
        if by_release:
            rows = [[0.1], [0.9]] * 50, [0, 1] * 50
            with open_session(*rows, classes=(0, 1), ledger="theirs") as session:
                session.count(share=0.2)
        else:
            fit()


def test_a_reference_that_no_model_can_keep_is_refused_and_its_run_closed(monkeypatch):
    class Odd(Place):
        def __init__(self, number):
            self.reference = {"id": {1, 2}}

    monkeypatch.setattr(Kept, "reserve", lambda self, run: Odd(1))
    with pytest.raises(LedgerError, match="gave a reference that is no JSON"):
        fit()
    assert Kept.told == [("close", "ended by LedgerError", ())]


def test_a_ledger_that_fails_when_a_run_ends_takes_no_model_away(monkeypatch, caplog):
    def close(self, outcome, found):
        raise KeyError("disk")

    monkeypatch.setattr(Place, "close", close)
    assert fit().privacy["ledger"]["id"] == "theirs"
    assert "the run was not closed. The ledger has the run, whole." in caplog.text
    assert "disk" not in caplog.text
