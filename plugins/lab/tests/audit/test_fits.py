"""Whole fits on made tables."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import load_registry, optimizer_facts
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.pairs import pairs_of
from dpcore_lab.audit.recorded import releases_of
from dpcore_lab.audit.two_world import audit_worlds

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("k", [1, 3])
def test_the_tables_of_a_pair_are_neighbours(relation, k):
    for pair in pairs_of(relation, (-1.0, 1.0), k):
        here, there = (np.column_stack((side.X, side.y)) for side in (pair.here, pair.there))
        common = min(len(here), len(there), 63)
        assert np.array_equal(here[:common], there[:common])
        sizes = sorted(len(rows) - common for rows in (here, there))
        assert sizes == ([0, k] if relation is ADD else [k, k])
        assert not np.array_equal(here, there)


def test_a_seed_repeats_a_run_and_runs_differ():
    fits = Fits(Request("outpert", epsilon=4.0, seed=7))
    first, second = fits.draw(0, 0, 5, 2)
    assert np.array_equal(first, fits.run(0, 0, 5)) and not np.array_equal(first, second)
    assert not np.array_equal(first, fits.run(0, 1, 5))
    assert not np.array_equal(first, Fits(replace(fits.request, seed=8)).run(0, 0, 5))


def test_a_unit_of_several_rows_is_one_change():
    fits = Fits(Request("dp-gd", rows_per_unit=2, seed=1))
    sizes = [fits.rows(0, world)[0].n_units for world in (0, 1)]
    assert sizes == [64, 63] and fits.rows(0, 0)[0].X.shape == (65, 3)
    assert fits.run(0, 0, 0).shape == (6,)


def test_what_claims_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="claims no epsilon"):
        Fits(Request("nonprivate"))
    with pytest.raises(InvalidInputError, match="claims no epsilon"):
        Fits(Request("sgd-users", seed=1)).run(0, 0, 0)


def test_a_mechanism_whose_question_may_be_any_number_is_not_played_by_script():
    with pytest.raises(InvalidInputError, match="any number of its grid.* --method two-world"):
        releases_of(Fits(Request("tukey-em", seed=1)), 1)


def test_the_claim_is_of_mu_where_the_filter_holds_it():
    assert Fits(Request("dp-gd", epsilon=2.0)).claim.mu == pytest.approx(0.5016, abs=1e-4)
    assert Fits(Request("sgd-ma", epsilon=2.0)).claim.mu is None
    assert Fits(Request("output-nr", epsilon=2.0)).claim.delta == 0.0


@pytest.mark.parametrize("name", ["dp-gd", "dp-agd", "adassp", "privgene"])
def test_releases_are_no_further_apart_than_they_declare(name):
    found = releases_of(Fits(Request(name, seed=1)), 1)
    assert all(0 < release.share <= 1 for release in found)
    assert any(release.share > 0.99 for release in found)


@pytest.mark.parametrize(("name", "relation"), [("dp-gd", None), ("gram-ridge", "replace-one")])
def test_releases_are_of_whole_units(name, relation, monkeypatch):
    request = Request(name, relation=relation, rows_per_unit=3, seed=1)
    found = releases_of(Fits(request), 1)
    assert 0.99 < max(release.share for release in found) <= 1
    # The broken twin: a unit that is taken for a row.
    monkeypatch.setattr(
        "dpcore.session.unit_sensitivity.float_up", lambda of_three: float(of_three / 3)
    )
    found = releases_of(Fits(request), 1)
    assert max(release.share for release in found) > 2.9


class Fails(Exception):
    """An error that only some rows raise."""


@pytest.mark.slow
def test_an_error_on_one_table_alone_is_an_outcome(monkeypatch):
    fits = Fits(Request("outpert", epsilon=1.0, seed=1))
    fit = fits._fit

    def failing(pair, world, number):
        if world == 1 or not one_alone:
            raise Fails
        return fit(pair, world, number)

    one_alone = True
    monkeypatch.setattr(fits, "_fit", failing)
    fits.try_out()
    assert audit_worlds(fits.claim, fits.draw, 1, 400).is_violation
    # An error on both is none, and ends the audit.
    one_alone = False
    with pytest.raises(Fails):
        fits.try_out()


def test_an_error_of_the_machine_is_no_outcome(monkeypatch):
    def failing(*run):
        raise MemoryError

    fits = Fits(Request("outpert", epsilon=4.0, seed=1))
    monkeypatch.setattr(fits, "_fit", failing)
    with pytest.raises(MemoryError):
        fits.run(0, 0, 0)


AUDITED = [
    entry.name
    for entry in load_registry().entries("optimizer")
    if not optimizer_facts(load_registry().load("optimizer", entry.name)).answered_by
    and optimizer_facts(load_registry().load("optimizer", entry.name)).private
]

FEW_STEPS = {"sgd-ma": {"steps": 4}, "sgd-adv": {"steps": 4}, "dp-agd": {"steps": 4}}
"""Of those that take hundreds by default."""


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITED)
def test_every_algorithm_of_ours_is_audited(name):
    # So few runs find nothing but a model that its row decides, after however many steps. False
    # alarms: 1e-6 each.
    fits = Fits(Request(name, epsilon=4.0, params=FEW_STEPS.get(name, {})))
    assert not audit_worlds(fits.claim, fits.draw, 1, 32).is_violation


def test_an_optimizer_is_audited_with_the_loss_that_it_states(monkeypatch):
    class OfTheHinge(load_registry().load("optimizer", "dp-gd")):
        checked_loss = "hinge-svm"

    monkeypatch.setattr("dpcore_baselines.dp_gd.DpGd", OfTheHinge)
    assert Fits(Request("dp-gd")).plan.loss.name == "hinge-svm"
    assert Fits(Request("dp-gd", "logistic")).plan.loss.name == "logistic"
