"""A share of the noise is released by a user of a secure aggregation, and by no other session."""

import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, RowCount
from dpcore.plugin.parts import LocalEngine, SeededNoise, TableSession
from dpcore_a_ddp.skellam_noise.composition import SkellamCompositionAccountant
from dpcore_a_ddp.skellam_noise.mechanism import Skellam
from dpcore_a_ddp.skellam_noise.share import SkellamShare
from dpcore_accounting.rdp import RdpAccountant
from dpcore_lab.checks import make_rows

REPLACE = NeighboringRelation.REPLACE_ONE
SHARE = SkellamShare(30.0, honest=10**9, n_features=1)


def session_of(accountant, **options):
    engine = LocalEngine(make_rows(64).table())
    filled = accountant.from_budget(1.0, 1e-6)
    return TableSession(engine, filled, REPLACE, SeededNoise(1), **options)


@pytest.mark.parametrize("accountant", [RdpAccountant, SkellamCompositionAccountant])
def test_an_ordinary_session_refuses_a_share_uncharged(accountant):
    session = session_of(accountant)
    with pytest.raises(InvalidInputError, match="SkellamShare adds one user's share of the noise"):
        session.release(RowCount(), SHARE)
    assert session.ledger == ()
    assert session.accountant.spent == 0
    assert session.release(RowCount(), Skellam(30.0)).shape == (1,)


def test_the_session_of_a_user_whose_answers_are_masked_takes_it():
    session = session_of(SkellamCompositionAccountant, takes_shares=True)
    assert session.release(RowCount(), SHARE).shape == (1,)


def test_a_share_hidden_in_another_part_is_refused_as_well():
    class Wrapped:
        name, needs, noise_multiplier = "wrapped", "l2", 30.0

        def __init__(self):
            self.query = SHARE

        def event(self, sensitivity):
            return SHARE.event(sensitivity)

    with pytest.raises(InvalidInputError, match="share of the noise"):
        session_of(SkellamCompositionAccountant).release(RowCount(), Wrapped())
