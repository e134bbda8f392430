import dataclasses
import importlib

import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Mechanism, Sensitivity
from dpcore.registry import builtins

REGISTERED = {}
builtins.register_mechanisms(
    lambda name, target, **words: REGISTERED.update({name: (target, words)})
)


@pytest.mark.parametrize("name", REGISTERED)
def test_a_registered_mechanism_is_the_class_of_that_name(name):
    target, words = REGISTERED[name]
    module, attribute = target.split(":")
    mechanism = getattr(importlib.import_module(module), attribute)
    assert mechanism.name == name and words["summary"].endswith(".")
    assert isinstance(mechanism(1.0), Mechanism)
    assert [field.name for field in dataclasses.fields(mechanism)] == ["noise_multiplier"]
    assert mechanism.needs in ("l1", "l2", "range")
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism(1.0).noise_multiplier = 2.0


@pytest.mark.parametrize("name", REGISTERED)
def test_the_event_is_known_without_data_or_noise(name):
    class NoNoise:
        def __getattr__(self, attribute):
            raise AssertionError("an event draws nothing")

    module, attribute = REGISTERED[name][0].split(":")
    mechanism = getattr(importlib.import_module(module), attribute)(0.7)
    norm = mechanism.needs if mechanism.needs != "range" else "linf"
    change = Sensitivity(norm, 0.3, NeighboringRelation.ADD_OR_REMOVE_ONE, 12, 0.3)
    assert mechanism.event(change) == mechanism.event(change)
    with pytest.raises(AssertionError, match="draws nothing"):
        mechanism.release(np.zeros(2, dtype=np.int64), change, NoNoise())
