"""Data beside a registered name: plain values, read without an import, each with one owner."""

from dataclasses import dataclass
from types import MappingProxyType

import pytest

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.plugin.parts import Registration, Registry
from dpcore.registry import kinds
from dpcore.registry.kinds import Kind, checked_data, hook_of

PRINTER = Kind("tea-printer", "tea-printers", {"suffixes": (), "group": ""}, alone=("suffixes",))


@pytest.fixture(autouse=True)
def printer(monkeypatch):
    monkeypatch.setattr(kinds, "_BY_NAME", {**kinds._BY_NAME, PRINTER.name: PRINTER})


@dataclass
class Open:
    number: int = 3


def entry(name, *suffixes, owner="acme"):
    return Registration("tea-printer", name, "a:B", "S.", "", owner, "1.0", {"suffixes": suffixes})


def test_a_hook_is_named_by_the_plural():
    assert (
        hook_of("loss") == "register_losses" and hook_of("tea-printer") == "register_tea_printers"
    )


def test_data_have_defaults_and_cannot_be_changed():
    data = checked_data("tea-printer", "cup", {"suffixes": (".tea",)})
    assert dict(data) == {"suffixes": (".tea",), "group": ""}
    assert isinstance(data, MappingProxyType)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sufixes": (".tea",)}, "takes no 'sufixes'. Did you mean suffixes"),
        ({"suffixes": [".tea"]}, "needs suffixes=... to be a tuple of plain values"),
        ({"suffixes": (Open(),)}, "plain values"),
        ({"suffixes": (print,)}, "plain values"),
        ({"group": 3}, "needs group=... to be a str"),
        ({"suffixes": ("tea",)}, "expected suffixes=... such as '.csv', and not 'tea'"),
    ],
)
def test_other_data_are_refused(given, told):
    with pytest.raises(InvalidInputError, match=told.replace("(", r"\(")):
        checked_data("tea-printer", "cup", given)


def test_a_suffix_has_one_owner():
    registry = Registry([entry("cup", ".tea", ".pot"), entry("mug", ".mug")])
    assert registry.claimant("tea-printer", "suffixes", ".pot").name == "cup"
    assert registry.claimant("tea-printer", "suffixes", ".jug") is None and not registry.failures


def test_a_suffix_of_two_is_an_error_that_names_both():
    registry = Registry([entry("cup", ".tea"), entry("mug", ".tea", ".mug", owner="bolt")])
    told = r"'.tea' \(suffixes of the kind tea-printer\) is registered by both acme 1.0 and bolt"
    with pytest.raises(RegistryError, match=told):
        registry.claimant("tea-printer", "suffixes", ".tea")
    assert registry.claimant("tea-printer", "suffixes", ".mug").name == "mug"
    assert [failure.distribution for failure in registry.failures] == ["acme, bolt"]
