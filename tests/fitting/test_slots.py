"""What fills a slot is checked by name and facts, before any data."""

import sys
from dataclasses import dataclass, replace

import pytest

from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.planning.slots import accountants_for, mechanism_in, others_for
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import Gaussian, Slot
from dpcore.plugin.parts import GaussianDpEvent, PureDpEvent, Registration, Registry, load_registry
from dpcore.privacy.statement import foreign_parts

ENTRY = Registration("mechanism", "own", "own_noise:Own", "Noise.", "", "own-dist", "1.0")


@dataclass(frozen=True)
class Own:
    """Somebody's mechanism, as far as a slot looks at it."""

    noise_multiplier: float

    name = "own"
    needs = "l2"

    @classmethod
    def nominal_event(cls, noise_multiplier):
        return GaussianDpEvent(noise_multiplier)

    def event(self, sensitivity):
        return GaussianDpEvent(self.noise_multiplier)

    def release(self, exact, sensitivity, noise):
        return exact


class OfL1(Own):
    needs = "l1"


class Share(Own):
    is_share = True


NoEvent = type("NoEvent", (Own,), {"nominal_event": None})


@dataclass(frozen=True)
class Wider(Own):
    width: int


@pytest.fixture
def registry_of(monkeypatch):
    """Return a function: what is installed, and one mechanism more."""

    def make(kind):
        module = type(sys)("own_noise")
        module.Own = kind
        monkeypatch.setitem(sys.modules, "own_noise", module)
        kinds = ("optimizer", "mechanism", "accountant", "loss", "engine")
        installed = [entry for kind in kinds for entry in load_registry().entries(kind)]
        return Registry([*installed, ENTRY])

    return make


ASKED = Settings(algo="dp-gd", use={"noise": "own"})


def test_a_plugins_mechanism_fills_an_open_slot_and_is_told_by_its_target(registry_of, monkeypatch):
    # It says that it is the core's: what counts is where it is registered.
    monkeypatch.setattr(Own, "__module__", Gaussian.__module__)
    plan = make_plan(ASKED, registry_of(Own))
    assert plan.use == {"noise": "own"}
    assert "own_noise:Own" in foreign_parts(plan.targets)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (OfL1, "its noise is scaled to l1"),
        (Share, "it draws a share of the noise"),
        (NoEvent, "it states no nominal_event"),
        (Wider, "not built from a noise multiplier alone"),
    ],
)
def test_what_cannot_fill_it_is_refused_with_what_would(registry_of, kind, told):
    registry = registry_of(kind)
    with pytest.raises(InvalidInputError, match=rf"{told}.* any other .* that needs l2.*gamma"):
        make_plan(ASKED, registry)
    slot = registry.load("optimizer", "dp-gd").slots["noise"]
    assert others_for(slot, registry) == ("gamma",)


def test_a_closed_slot_says_why(registry_of):
    with pytest.raises(InvalidInputError, match="no other: the density of b is in the proof"):
        make_plan(replace(ASKED, algo="objpert"), registry_of(Own))


@dataclass(frozen=True)
class Two:
    """An optimizer with two slots."""

    use: dict

    name = "two"
    accountant = "pure"
    slots = {"sum": Slot(("gaussian", "laplace"), takes=("l2", "l1")),
             "choice": Slot(("exponential",), takes=("range",))}  # fmt: skip
    relations = ("replace-one",)
    needs = ()

    def minimize(self, problem, session):
        raise NotImplementedError


def accountant(name):
    return load_registry().load("accountant", name).from_budget(1.0, 1e-6)


def test_the_accountant_has_to_hold_what_the_slot_releases():
    assert mechanism_in(Two({}), "sum", accountant("gdp")) is Gaussian
    with pytest.raises(UnsupportedEventError) as caught:
        mechanism_in(Two({}), "sum", accountant("pure"))
    assert str(caught.value) == (
        "two's slot sum (gaussian) cannot be held by pure; choose --use sum=laplace "
        "(use={'sum': 'laplace'}), or --accountant zcdp, gdp or rdp (accountant=)."
    )
    with pytest.raises(InvalidInputError, match="cannot hold 'exponential'"):
        mechanism_in(Two({"sum": "exponential"}), "sum")


def test_the_accountants_of_several_events():
    # Its own first; those for one release, or for a stated schedule, are not offered.
    assert (
        accountants_for(Two({}), PureDpEvent(1.0))
        == "--accountant pure, zcdp, gdp, rdp or basic (accountant=)"
    )
    both = PureDpEvent(1.0), GaussianDpEvent(1.0)
    assert accountants_for(Two({}), *both) == "--accountant zcdp, gdp or rdp (accountant=)"
