"""Externals as plugins register them, and what is said of those that fail."""

from types import SimpleNamespace

import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.externals import External, hookimpl, load_externals


def point(name, module, owner="acme"):
    return SimpleNamespace(name=name, dist=SimpleNamespace(name=owner), load=lambda: module)


def plugin(*names, **facts):
    @hookimpl
    def register_externals(register):
        for name in names:
            register(name, ["/bin/true"], summary="Nothing.", **facts)

    return SimpleNamespace(register_externals=register_externals)


def test_an_external_is_registered_with_its_marks():
    found = load_externals([point("a", plugin("mean", pure=True, relation="replace-one"))])
    external = found.get("mean")
    assert external.distribution == "acme" and external.command == ("/bin/true",)
    assert external.marks == ("not ours, guarantee not checked", "pure", "replace-one")
    assert not found.failures


def test_bounds_from_the_data_are_a_mark():
    external = External("a", ("/bin/true",), "Nothing.", bounds_from_data=True)
    assert external.marks[1:] == ("bounds from the data",)


def test_a_plugin_that_fails_leaves_the_others():
    @hookimpl
    def register_externels(register):
        pass

    misspelt = SimpleNamespace(register_externels=register_externels)
    wrong = plugin("Not Kebab")
    points = [point("a", misspelt, "typo"), point("b", wrong, "form"), point("c", plugin("mean"))]
    found = load_externals(points)
    assert list(found.found) == ["mean"]
    assert [failure.split()[0] for failure in found.failures] == ["form", "typo"][::-1]
    with pytest.raises(InvalidInputError, match="no external algorithm 'other'. typo registered"):
        found.get("other")


def test_a_name_that_two_claim_belongs_to_neither():
    claims = [point(name, plugin("mean"), name) for name in ("a", "b", "c")]
    found = load_externals(claims)
    assert not found.found and "a and b both register 'mean'." in found.failures


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "Mean"},
        {"command": ()},
        {"command": "/bin/true"},
        {"tasks": ()},
        {"tasks": ("counts",)},
        {"relation": "neighbours"},
    ],
)
def test_facts_of_another_form_are_refused(facts):
    right = {"name": "mean", "command": ("/bin/true",), "summary": "Nothing."}
    External(**right)
    with pytest.raises(InvalidInputError, match="Expected"):
        External(**{**right, **facts})
