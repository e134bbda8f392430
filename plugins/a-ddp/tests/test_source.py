"""The source that answers an optimizer in place of a session: who it is, and what it must have."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import RegistryError
from dpcore.plugin import Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import dataset_from_arrays, optimizer_facts
from dpcore_a_ddp.users.user_fits import Users


class Foreign(Users):
    """Somebody else's source: it sees rows, whatever it does with them."""


def model_of(kind):
    X, y = np.tile(np.eye(4), (10, 1)), np.tile([-1, 1, -1, 1], 10)
    data = dataset_from_arrays(X, y, row_norm=1.0)
    settings = Settings(
        "sgd-maj", epsilon=8.0, params={"rows_per_user": 20}, relation="replace-one", seed=1
    )
    plan = make_plan(settings)
    return Run.answered(plan, data.schema, kind.open(plan, data), 40)


def test_a_source_that_is_not_dpcores_is_named_in_the_statement():
    assert model_of(Users).privacy["parts_not_from_dpcore"] == []
    (named,) = model_of(Foreign).privacy["parts_not_from_dpcore"]
    assert named.endswith("test_source:Foreign")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("dpcore.engines.local:LocalEngine", "has no 'refuse'"),  # of ours, and answers exactly
        ("nowhere:Nothing", "ModuleNotFoundError"),
        ("dpcore_a_ddp.users.user_fits:nothing", "AttributeError"),
    ],
)
def test_what_is_no_source_is_refused(target, reason):
    stated = optimizer_facts(make_plan(Settings("sgd-maj")).optimizer)
    with pytest.raises(RegistryError, match=reason):
        replace(stated, answered_by=target).load_source()
