"""Three users with files of their own, and what is public about them."""

import numpy as np
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Logistic
from dpcore_a_ddp.flower.split import share_out
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.users.messages import User

SEED = 5
SCHEMA = """
[columns]
a = { kind = "numeric", lower = -1, upper = 1 }
b = { kind = "numeric", lower = -1, upper = 1 }
y = { kind = "label", classes = ["no", "yes"] }
"""
USERS = (
    User("anna", 5, 2.0, 1e-6),
    User("ben", 8, 8.0, 1e-6),
    User("cleo", 3, 8.0, 1e-6),
)


@pytest.fixture
def users():
    return USERS


@pytest.fixture
def table(tmp_path):
    """A folder with ``rows.csv`` of all users, ``schema.toml`` and ``users.csv``."""
    rng = np.random.default_rng(7)
    rows = rng.uniform(-1, 1, (sum(user.n_rows for user in USERS), 2))
    lines = [f"{a:.4f},{b:.4f},{'yes' if a + b > 0 else 'no'}\n" for a, b in rows]
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(lines))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    budgets = [f"{u.name},{u.epsilon},{u.delta},{u.n_rows}\n" for u in USERS]
    (tmp_path / "users.csv").write_text("user,epsilon,delta,rows\n" + "".join(budgets))
    return tmp_path


@pytest.fixture
def own_files(table):
    """Each user's file of settings; the noise comes from a seed."""
    return share_out(
        table / "rows.csv",
        table / "schema.toml",
        USERS,
        table / "users",
        "replace-one",
        "gdp",
        SEED,
    )


@pytest.fixture
def rules(table):
    """Four rounds cost anna more than she has."""
    schema = Schema.read(table / "schema.toml")
    return GradientRounds(
        loss=Logistic.name,
        n_features=schema.n_features,
        row_norm=schema.row_norm,
        raw_norm_bound=schema.raw_norm_bound,
        relation="replace-one",
        clip=1.0,
        noise_multiplier=3.0,
        amplified=False,
    )
