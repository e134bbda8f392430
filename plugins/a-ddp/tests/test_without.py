"""The core without this distribution: what asks users is refused in one line that names it."""

from importlib import metadata

import numpy as np
import pytest

from dpcore import fit
from dpcore.accountants import registered
from dpcore.errors import RegistryError
from dpcore.fitting.planning import plan
from dpcore.plugin.parts import Registry
from dpcore.registry.catalogue import GROUP


@pytest.fixture
def without(monkeypatch):
    points = [point for point in metadata.entry_points(group=GROUP) if point.name != "a-ddp"]
    registry = Registry.of(points)
    for module in (plan, registered):
        monkeypatch.setattr(module, "load_registry", lambda kind=None: registry)
    return registry


@pytest.mark.parametrize(
    "words", [{"users": "users.csv"}, {"trust": "local"}, {"users": "u.csv", "algo": "a-ddp"}]
)
def test_users_are_refused_in_one_line(without, words):
    X, y = np.eye(4), np.array([-1, 1, -1, 1])
    with pytest.raises(RegistryError, match="is in dpcore-a-ddp: pip install .* rows") as refused:
        fit(X, y, **words)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_everything_else_is_as_before(without):
    assert "sampling-composition" not in without.names("accountant")
    X, y = np.tile(np.eye(4), (20, 1)), np.tile([-1, 1, -1, 1], 20)
    model = fit(X, y, algo="sgd-ma", n0=80, epsilon=1.0, accountant="best", seed=3)
    assert model.privacy["accountant"] == "pld" and not model.privacy["parts_not_from_dpcore"]
